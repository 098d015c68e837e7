import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { endInput } from '@waybill/test-support'
import { expect, test } from 'vitest'

const core = fileURLToPath(new URL('../../src/internal.ts', import.meta.url))

/** Logs until the parent has seen enough lines on standard output; standard error is closed by then. */
const program = `
  const { createStandardErrorLogger } = await import(${JSON.stringify(core)})
  const logger = createStandardErrorLogger()
  logger.warn({}, 'the first line')
  process.stdin.once('data', () => {
    let lines = 0
    const timer = setInterval(() => {
      logger.warn({}, 'nobody reads this')
      if (++lines < 20) return
      clearInterval(timer)
      process.exit(7)
    }, 1)
  })
`

test('a line without a reader does not end the process', async () => {
  const child = spawn(process.execPath, ['--conditions=@waybill/source', '--input-type=module', '--eval', program], {
    stdio: ['pipe', 'ignore', 'pipe'],
  })
  const exited = once(child, 'exit')
  await once(child.stderr, 'data')
  child.stderr.destroy()
  await once(child.stderr, 'close')
  endInput(child.stdin, 'go')
  expect(await exited).toEqual([7, null])
})
