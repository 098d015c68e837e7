import type { KafkaRecord } from '@waybill/kafka'
import { createVirtualRuntime } from '@waybill/sim'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Work } from '../../src/delivery/work.ts'
import { dueAtOf } from '../../src/partition/due-at.ts'
import { readTrail } from '../../src/records/trail.ts'
import { fetched, textRecord } from '../records/fetched.ts'

const delayMs = 10_000

function workOf(record: KafkaRecord): Pick<Work, 'record' | 'trail'> {
  return { record, trail: readTrail(record, 'TIER', 'group') }
}

function waitOf(retryTimestamp: string | undefined, timestamp: number, runtime = createVirtualRuntime(1)): number {
  const headers =
    retryTimestamp === undefined
      ? []
      : ([
          ['x-eventbus-retry-timestamp', retryTimestamp],
          ['x-eventbus-consumer-group', 'group'],
        ] as const)
  const record = fetched(textRecord('orders.retry-1', headers), { timestamp })
  return dueAtOf(workOf(record), delayMs, runtime.clock) - runtime.clock.monotonic()
}

describe('S0-113 a record of a tier', () => {
  const now = createVirtualRuntime(1).clock.now()

  test('is due one delay after it was published to the tier', () => {
    expect(waitOf(String(now - 4_000), now)).toBe(6_000)
  })

  test('is due at once when the delay is over', () => {
    expect(waitOf(String(now - delayMs), now)).toBe(0)
    expect(waitOf(String(now - 3_600_000), now)).toBe(0)
  })

  test('without that header is due one delay after its timestamp', () => {
    expect(waitOf(undefined, now - 1_000)).toBe(9_000)
  })

  test('I12 C-73 waits one delay at most from its first sight, whatever it says', () => {
    fc.assert(
      fc.property(fc.oneof(fc.bigInt().map(String), fc.string()), fc.integer(), (text, timestamp) => {
        const wait = waitOf(text, timestamp)
        expect(wait).toBeGreaterThanOrEqual(0)
        expect(wait).toBeLessThanOrEqual(delayMs)
      }),
      { verbose: true },
    )
  })

  test('I12 is due by the monotonic clock: a correction of the wall clock after its first sight moves nothing', () => {
    const runtime = createVirtualRuntime(1)
    const record = fetched(textRecord('orders.retry-1'), { timestamp: runtime.clock.now() })
    const dueAt = dueAtOf(workOf(record), delayMs, runtime.clock)
    runtime.wallJump(3_600_000)
    expect(dueAt - runtime.clock.monotonic()).toBe(delayMs)
  })

  test('I12 a clock that was set back waits one delay, and does not wait for the past to come again', () => {
    const runtime = createVirtualRuntime(1)
    const publishedAt = runtime.clock.now()
    runtime.wallJump(-3_600_000)
    expect(waitOf(String(publishedAt), publishedAt, runtime)).toBe(delayMs)
  })
})
