import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { endInput, runProgram } from '@waybill/test-support'
import { describe, expect, test } from 'vitest'

/** More than a pipe holds, so that a program that does not read leaves a write pending when it exits. */
const longInput = 'x'.repeat(4 * 1024 * 1024)

describe('a program that a test runs', () => {
  test('may exit before it reads its input: the test gets its exit code and output', async () => {
    const script = "console.log('out'); console.error('err'); process.exit(7)"
    const results = await Promise.all(
      Array.from({ length: 5 }, () => runProgram(process.execPath, ['-e', script], { input: longInput })),
    )
    for (const result of results) expect(result).toEqual({ code: 7, stdout: 'out\n', stderr: 'err\n' })
  })

  test('may close its input and keep running', async () => {
    const script = "process.stdin.destroy(); setTimeout(() => console.log('done'), 100)"
    const result = await runProgram(process.execPath, ['-e', script], { input: longInput })
    expect(result).toEqual({ code: 0, stdout: 'done\n', stderr: '' })
  })

  test('reads the whole input', async () => {
    const script =
      "let length = 0; process.stdin.on('data', (part) => (length += part.length)).on('end', () => console.log(length))"
    const result = await runProgram(process.execPath, ['-e', script], { input: longInput })
    expect(result?.stdout).toBe(`${longInput.length}\n`)
  })

  test('is undefined when the machine does not have it', async () => {
    expect(await runProgram('waybill-no-such-program', [], { input: 'x' })).toBeUndefined()
  })
})

test('an input error that is no closed pipe is thrown', async () => {
  const stdin = new PassThrough()
  endInput(stdin)
  const failure = new Error('disk on fire')
  expect(() => stdin.emit('error', failure)).toThrow(failure)
  const closed = Object.assign(new Error('write EPIPE'), { code: 'EPIPE' })
  expect(stdin.emit('error', closed)).toBe(true)
  await once(stdin.resume(), 'close')
})
