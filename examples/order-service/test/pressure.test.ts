import { createMemoryMetrics, noopLogger, runtimeWith } from '@waybill/core'
import { describe, expect, test } from 'vitest'
import { WritesRejectedError } from '../src/application/application-errors.ts'
import { backlogOf, lagMsOf } from '../src/config/readings.ts'
import { BusyShare } from '../src/infrastructure/sql/busy-share.ts'
import { createPressure } from '../src/load/pressure.ts'
import { createWriteGate } from '../src/load/write-gate.ts'

function signal() {
  const metrics = createMemoryMetrics()
  const readings = { backlog: 0, lagMs: 0, saturation: 0 }
  const pressure = createPressure(
    { backlog: () => readings.backlog, lagMs: () => readings.lagMs, saturation: () => readings.saturation },
    runtimeWith({ metrics, logger: noopLogger }),
  )
  return { metrics, readings, pressure }
}

function reading(name: string, value: number) {
  return { name, value, kind: 'gauge', labels: {}, buckets: undefined, sinceMs: 0 } as const
}

describe('the pressure on an instance', () => {
  test.each([
    ['backlog', 1_999, 'NORMAL'],
    ['backlog', 2_000, 'ELEVATED'],
    ['backlog', 10_000, 'CRITICAL'],
    ['lagMs', 119_999, 'NORMAL'],
    ['lagMs', 120_000, 'ELEVATED'],
    ['lagMs', 600_000, 'CRITICAL'],
    ['saturation', 0.74, 'NORMAL'],
    ['saturation', 0.75, 'ELEVATED'],
    ['saturation', 0.9, 'CRITICAL'],
  ] as const)('S4-050 S4-052 with a %s of %d is %s', async (input, value, level) => {
    const { readings, pressure } = signal()
    readings[input] = value
    expect(await pressure.readNow()).toBe(level)
    expect(pressure.factor()).toBe({ NORMAL: 1, ELEVATED: 0.7, CRITICAL: 0.35 }[level])
  })

  test('S4-053 is measured under the specified names', async () => {
    const { metrics, readings, pressure } = signal()
    Object.assign(readings, { backlog: 12, lagMs: 3_000, saturation: 0.8 })
    await pressure.readNow()
    expect(metrics.latest('backpressure.outbox.backlog')).toBe(12)
    expect(metrics.latest('backpressure.kafka.lag.ms')).toBe(3_000)
    expect(metrics.latest('backpressure.db.saturation.percent')).toBe(80)
    expect(metrics.latest('backpressure.level')).toBe(1)
  })

  test('S4-036 C-51 counts events that are pending or retried, and not those that wait for an operator', () => {
    const table = { pending: 7, retrying: 2, dead: 5_000 }
    expect(backlogOf({ health: () => ({ table }) })).toBe(7)
    expect(backlogOf({ health: () => ({ table: null }) })).toBe(0)
  })

  test('counts the lag of the partition that is furthest behind', () => {
    const series = [reading('eventbus.consumer.lag.seconds', 9), reading('eventbus.consumer.lag.seconds', 2)]
    expect(lagMsOf({ read: () => [...series, reading('another', 99)] })).toBe(9_000)
  })
})

describe('the write gate', () => {
  test.each([
    [true, false, true],
    [true, true, false],
    [false, false, false],
    [false, true, false],
  ])(
    'S4-054 with an active region %s and critical pressure %s allows a write: %s',
    (isActive, isCritical, isAllowed) => {
      const gate = createWriteGate({ allowsWrites: () => isActive }, { shouldRejectWrites: isCritical })
      if (isAllowed) gate.assertWriteAllowed()
      else expect(() => gate.assertWriteAllowed()).toThrow(WritesRejectedError)
    },
  )
})

function connections() {
  const clock = { now: 0 }
  return { clock, busy: new BusyShare(4, () => clock.now), each: Array.from({ length: 4 }, () => ({})) }
}

describe('the share of busy connections', () => {
  test('S4-050 is the mean since the last reading: all of them at one instant are no saturation', () => {
    const { clock, busy, each } = connections()
    clock.now = 900
    for (const one of each) busy.acquired(one)
    clock.now = 1_000
    expect(busy.read()).toBeCloseTo(0.1)
    clock.now = 2_000
    expect(busy.read()).toBe(1)
    for (const one of each) busy.released(one)
    clock.now = 3_000
    expect(busy.read()).toBe(0)
  })

  test('counts a connection that is reported as lost and as released once', () => {
    const { clock, busy, each } = connections()
    const [first = {}, second = {}] = each
    for (const one of [first, second]) busy.acquired(one)
    busy.released(first)
    busy.released(first)
    clock.now = 1_000
    expect(busy.read()).toBe(0.25)
  })
})
