import { createBackpressure, createMemoryLogger, createMemoryMetrics, OptionsError } from '@waybill/core'
import { createVirtualRuntime } from '@waybill/sim'
import { describe, expect, test } from 'vitest'
import type { BackpressureOptions } from '../../src/backpressure/backpressure-options.ts'
import { levelOf } from '../../src/backpressure/pressure-level.ts'

const backlog = { elevated: 2_000, critical: 10_000 }

function setup(given: Partial<BackpressureOptions> = {}) {
  const logger = createMemoryLogger()
  const metrics = createMemoryMetrics()
  const runtime = createVirtualRuntime(1, { logger, metrics })
  const values: Record<string, number> = { backlog: 0, saturation: 0 }
  const signal = createBackpressure({
    inputs: {
      backlog: { ...backlog, read: () => values['backlog'] as number },
      saturation: { elevated: 0.75, critical: 0.9, read: async () => values['saturation'] as number },
    },
    runtime,
    ...given,
  })
  return { signal, values, runtime, logger, metrics }
}

describe('the level', () => {
  test('S4-052 is that of the input under most pressure, and any one is enough', async () => {
    const { signal, values } = setup()
    expect(await signal.readNow()).toBe('NORMAL')
    values['saturation'] = 0.75
    expect(await signal.readNow()).toBe('ELEVATED')
    values['backlog'] = 10_000
    expect(await signal.readNow()).toBe('CRITICAL')
    expect(signal.readings).toEqual({
      backlog: { level: 'CRITICAL', value: 10_000 },
      saturation: { level: 'ELEVATED', value: 0.75 },
    })
  })

  test('S4-051 has a factor, and rejects writes at CRITICAL alone', async () => {
    const { signal, values } = setup()
    const { factor } = signal
    const told: unknown[] = []
    for (const value of [0, 2_000, 10_000]) {
      values['backlog'] = value
      await signal.readNow()
      told.push([signal.level, factor(), signal.shouldRejectWrites])
    }
    expect(told).toEqual([
      ['NORMAL', 1, false],
      ['ELEVATED', 0.7, false],
      ['CRITICAL', 0.35, true],
    ])
  })

  test.each([
    [1_999, 'NORMAL', 'NORMAL'],
    [2_000, 'NORMAL', 'ELEVATED'],
    [1_600, 'ELEVATED', 'ELEVATED'],
    [1_599, 'ELEVATED', 'NORMAL'],
    [9_999, 'ELEVATED', 'ELEVATED'],
    [8_000, 'CRITICAL', 'CRITICAL'],
    [7_999, 'CRITICAL', 'ELEVATED'],
    [1_600, 'CRITICAL', 'ELEVATED'],
    [1_599, 'CRITICAL', 'NORMAL'],
    [Number.POSITIVE_INFINITY, 'NORMAL', 'CRITICAL'],
  ] as const)('of %d after %s is %s: it rises at a threshold and falls a fifth below it', (value, former, level) => {
    expect(levelOf(value, backlog, former, 0.2)).toBe(level)
  })

  test('is logged when it changes, and measured at each reading', async () => {
    const { signal, values, logger, metrics } = setup()
    await signal.readNow()
    values['backlog'] = 10_000
    await signal.readNow()
    await signal.readNow()
    expect(logger.lines).toMatchObject([{ fields: { from: 'NORMAL', to: 'CRITICAL', backlog: 10_000, saturation: 0 } }])
    expect(metrics.latest('backpressure.level')).toBe(2)
    expect(metrics.latest('backpressure.input', { input: 'backlog' })).toBe(10_000)
  })
})

describe('an input that cannot be read', () => {
  const failures: readonly (readonly [string, () => number | Promise<number>])[] = [
    ['rejects', () => Promise.reject(new Error('down'))],
    [
      'throws',
      () => {
        throw new Error('down')
      },
    ],
    ['is no number', () => Number.NaN],
    ['is a text', () => '12' as never],
  ]

  test.each(failures)('and %s counts as ELEVATED, is logged once, and is read again', async (_, fail) => {
    let isDown = true
    const { signal, logger } = setup({ inputs: { backlog: { ...backlog, read: () => (isDown ? fail() : 0) } } })
    await signal.readNow()
    expect(await signal.readNow()).toBe('ELEVATED')
    expect(signal.readings).toEqual({ backlog: { level: 'ELEVATED', value: null } })
    expect(logger.lines.filter(({ text }) => text === 'Backpressure input unreadable')).toHaveLength(1)
    isDown = false
    expect(await signal.readNow()).toBe('NORMAL')
  })

  test('keeps a level that was higher', async () => {
    let isDown = false
    const read = () => (isDown ? Promise.reject(new Error('down')) : 10_000)
    const { signal } = setup({ inputs: { backlog: { ...backlog, read } } })
    await signal.readNow()
    isDown = true
    expect(await signal.readNow()).toBe('CRITICAL')
  })

  test('counts as told by option', async () => {
    const down = { ...backlog, read: () => Promise.reject(new Error('down')) }
    const { signal } = setup({ inputs: { backlog: down }, whenUnreadable: 'CRITICAL' })
    expect(await signal.readNow()).toBe('CRITICAL')
  })

  test('is not waited for, and not called again before it has answered', async () => {
    const answers: PromiseWithResolvers<number>[] = []
    const read = () => {
      answers.push(Promise.withResolvers<number>())
      return (answers.at(-1) as PromiseWithResolvers<number>).promise
    }
    const { signal, runtime } = setup({ inputs: { backlog: { ...backlog, read } } })
    await signal.start()
    await runtime.advance(20_000)
    expect(signal.level).toBe('ELEVATED')
    expect(answers).toHaveLength(1)
    answers[0]?.resolve(0)
    await runtime.advance(5_000)
    expect(answers).toHaveLength(2)
    answers[1]?.resolve(1)
    await runtime.advance(1)
    expect(signal.readings['backlog']).toEqual({ level: 'NORMAL', value: 1 })
    await runtime.run(() => signal.stop())
  })
})

describe('a signal', () => {
  test('S4-052 is read every five seconds between start and stop', async () => {
    let reads = 0
    const read = () => ++reads
    const { signal, runtime } = setup({ inputs: { backlog: { ...backlog, read } } })
    expect(reads).toBe(0)
    await signal.start()
    await runtime.advance(14_000)
    expect(reads).toBe(3)
    await runtime.run(() => signal.stop())
    await runtime.advance(60_000)
    expect(reads).toBe(3)
    expect(signal.state).toBe('STOPPED')
  })

  test('refuses thresholds and factors in the wrong order', () => {
    const inputs = { backlog: { read: () => 0, elevated: 2, critical: 1 } }
    expect(() => createBackpressure({ inputs })).toThrow(OptionsError)
    expect(() => createBackpressure({ inputs })).toThrow('inputs.backlog.critical')
    expect(() => createBackpressure({ inputs: {}, factors: { ELEVATED: 0.2 } })).toThrow('factors.CRITICAL')
    expect(() => createBackpressure({ inputs: {}, factors: { NORMAL: 0.5 } })).toThrow('factors.ELEVATED')
  })
})
