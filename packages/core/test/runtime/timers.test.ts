import { spawn } from 'node:child_process'
import { getEventListeners, once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { ArgumentError } from '@waybill/core'
import { sleepWith, systemTimers } from '@waybill/core/internal'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'

const longestDelayMs = 2 ** 31 - 1
const dayMs = 86_400_000

afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

describe('systemTimers.schedule', () => {
  beforeEach(() => {
    vi.useFakeTimers()
  })

  test('runs once when the delay has passed', () => {
    const run = vi.fn<() => void>()
    systemTimers.schedule(1_000, run)
    vi.advanceTimersByTime(999)
    expect(run).not.toHaveBeenCalled()
    vi.advanceTimersByTime(dayMs)
    expect(run).toHaveBeenCalledTimes(1)
  })

  test.each([0, -1, Number.NEGATIVE_INFINITY])('runs after %d ms on a later turn, never synchronously', (ms) => {
    const run = vi.fn<() => void>()
    systemTimers.schedule(ms, run)
    expect(run).not.toHaveBeenCalled()
    vi.advanceTimersByTime(1)
    expect(run).toHaveBeenCalledTimes(1)
  })

  test.each([longestDelayMs, longestDelayMs + 1, 30 * dayMs, 400 * dayMs])('waits %d ms in full', (ms) => {
    const run = vi.fn<() => void>()
    systemTimers.schedule(ms, run)
    vi.advanceTimersByTime(ms - 1)
    expect(run).not.toHaveBeenCalled()
    vi.advanceTimersByTime(1)
    expect(run).toHaveBeenCalledTimes(1)
    expect(vi.getTimerCount()).toBe(0)
  })

  test('never runs after Infinity, and can be cancelled in any of its chunks', () => {
    const run = vi.fn<() => void>()
    const timer = systemTimers.schedule(Number.POSITIVE_INFINITY, run)
    vi.advanceTimersByTime(100 * dayMs)
    expect(vi.getTimerCount()).toBe(1)
    timer[Symbol.dispose]()
    expect(vi.getTimerCount()).toBe(0)
    expect(run).not.toHaveBeenCalled()
  })

  test('does nothing when disposed twice or after it ran', () => {
    const run = vi.fn<() => void>()
    const timer = systemTimers.schedule(1, run)
    vi.advanceTimersByTime(1)
    timer[Symbol.dispose]()
    timer[Symbol.dispose]()
    expect(run).toHaveBeenCalledTimes(1)
  })

  test('refuses NaN, which Node would take for one millisecond', async () => {
    expect(() => systemTimers.schedule(Number.NaN, () => {})).toThrow(ArgumentError)
    await expect(systemTimers.sleep(Number.NaN)).rejects.toThrow(ArgumentError)
    expect(vi.getTimerCount()).toBe(0)
  })
})

test('systemTimers.schedule waits on when Node wakes it a fraction of a millisecond early', () => {
  const wakes: { wake: () => void; ms: number }[] = []
  const clock = vi.spyOn(performance, 'now').mockReturnValue(5_000.4)
  vi.spyOn(globalThis, 'setTimeout').mockImplementation(((wake: () => void, ms: number) => {
    wakes.push({ wake, ms })
    return { unref: () => {} }
  }) as never)
  const run = vi.fn<() => void>()
  systemTimers.schedule(10.5, run)
  expect(wakes.at(-1)?.ms).toBe(11)
  clock.mockReturnValue(5_010.7)
  wakes.at(-1)?.wake()
  expect(run).not.toHaveBeenCalled()
  expect(wakes.at(-1)?.ms).toBe(1)
  clock.mockReturnValue(5_010.9)
  wakes.at(-1)?.wake()
  expect(run).toHaveBeenCalledTimes(1)
  expect(wakes).toHaveLength(2)
})

describe('systemTimers.sleep', () => {
  beforeEach(() => {
    vi.useFakeTimers()
  })

  test('resolves after the delay and leaves no listener on the signal', async () => {
    const { signal } = new AbortController()
    const slept = systemTimers.sleep(1_000, signal)
    expect(getEventListeners(signal, 'abort')).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(1_000)
    await expect(slept).resolves.toBeUndefined()
    expect(getEventListeners(signal, 'abort')).toHaveLength(0)
  })

  test('rejects with the reason of the abort and leaves no timer behind', async () => {
    const controller = new AbortController()
    const slept = systemTimers.sleep(30 * dayMs, controller.signal)
    const reason = new RangeError('enough')
    controller.abort(reason)
    await expect(slept).rejects.toBe(reason)
    expect(vi.getTimerCount()).toBe(0)
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(0)
  })

  test('rejects at once when the signal is already aborted', async () => {
    await expect(systemTimers.sleep(1_000, AbortSignal.abort(new RangeError('before')))).rejects.toThrow('before')
    expect(vi.getTimerCount()).toBe(0)
  })

  test('stays resolved when the signal aborts later', async () => {
    const controller = new AbortController()
    const slept = systemTimers.sleep(1, controller.signal)
    await vi.advanceTimersByTimeAsync(1)
    controller.abort()
    await expect(slept).resolves.toBeUndefined()
  })
})

test('sleepWith leaves no listener when the schedule refuses', async () => {
  const { signal } = new AbortController()
  const refused = sleepWith((ms, run) => systemTimers.schedule(ms, run), Number.NaN, signal)
  await expect(refused).rejects.toThrow(ArgumentError)
  expect(getEventListeners(signal, 'abort')).toHaveLength(0)
})

/** Runs a program that has `systemTimers` in a process of its own, to completion. */
async function runProgram(script: string): Promise<{ printed: string; status: unknown }> {
  const source = fileURLToPath(new URL('../../src/runtime/timers.ts', import.meta.url))
  const program = `import { systemTimers } from ${JSON.stringify(source)}; ${script}`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill())
  let printed = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    printed += text
  })
  const [status] = await once(child, 'close')
  return { printed, status }
}

describe('a process', () => {
  test('stays alive while something sleeps', async () => {
    expect(await runProgram(`await systemTimers.sleep(20); console.log('slept')`)).toEqual({
      printed: 'slept\n',
      status: 0,
    })
  })

  test('ends although something is scheduled', async () => {
    // If the timer kept the process alive, the test would end at its own deadline.
    const script = `systemTimers.schedule(86_400_000, () => console.log('ran')); console.log('scheduled')`
    expect(await runProgram(script)).toEqual({ printed: 'scheduled\n', status: 0 })
  })
})
