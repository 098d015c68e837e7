import { describe, expect, test } from 'vitest'
import { withPreset } from '../../src/options/presets.ts'
import { refusalsOf, resolved } from './test-binding.ts'

describe('the preset FANOUT', () => {
  test('has the consumer of the chat: it skips what fails for the moment and shares one dead letter topic', () => {
    expect(resolved({ preset: 'FANOUT', groupId: 'fanout-workers' })).toMatchObject({
      groupId: 'fanout-workers',
      startFrom: 'EARLIEST',
      maxPollRecords: 500,
      maxPollIntervalMs: 300_000,
      sessionTimeoutMs: 30_000,
      heartbeatIntervalMs: 10_000,
      failureProfile: 'BEST_EFFORT_SKIP',
      orderingMode: 'STRICT',
      tiers: [],
      deadLetter: { topic: 'dead_letters', format: 'ENVELOPE', strategy: 'STORE_ONLY' },
    })
  })
})

describe('the preset PROJECTION', () => {
  test('tries without end, a second after the first failure and half a minute apart at most, in order', () => {
    expect(resolved({ preset: 'PROJECTION' })).toMatchObject({
      failureProfile: 'BLOCKING_UNLIMITED',
      orderingMode: 'STRICT',
      tiers: [],
      tier0: { maxAttempts: 1 },
      blockingBackoff: { initialMs: 1_000, multiplier: 2, maxMs: 30_000 },
      deadLetter: { topic: 'orders.events.DLT', format: 'HEADERS' },
    })
  })
})

describe('a preset', () => {
  test('is overruled by what the binding says, also inside nested options', () => {
    const binding = resolved({
      preset: 'FANOUT',
      maxPollRecords: 10,
      orderingMode: 'RELAXED_IN_RETRY',
      dlt: { topic: 'chat_failures' },
    })
    expect(binding).toMatchObject({
      maxPollRecords: 10,
      orderingMode: 'RELAXED_IN_RETRY',
      sessionTimeoutMs: 30_000,
      deadLetter: { topic: 'chat_failures', format: 'ENVELOPE' },
    })
    const projection = resolved({ preset: 'PROJECTION', retry: { blocking: { maxBackoffMs: 5_000 } } })
    expect(projection.blockingBackoff).toMatchObject({ initialMs: 1_000, maxMs: 5_000 })
    expect(projection.tier0.maxAttempts).toBe(1)
  })

  test('gives up its dead letter topic for a suffix of the binding', () => {
    const binding = resolved({ preset: 'FANOUT', dlt: { topicSuffix: 'failed' } })
    expect(binding.deadLetter).toMatchObject({ topic: 'orders.events.failed', format: 'ENVELOPE' })
  })

  test('is not overruled by what is undefined', () => {
    const given = { ...resolved({}), preset: 'FANOUT', maxPollRecords: undefined }
    expect(withPreset(given)).toMatchObject({ maxPollRecords: 500 })
  })

  test('takes instances as a whole', () => {
    class Alerts {
      onDeadLetter(): void {}
    }
    const alertHandler = new Alerts()
    const dlt = { strategy: 'ALERT_AND_STORE', alertHandler } as const
    expect(resolved({ preset: 'FANOUT', dlt }).deadLetter.alertHandler).toBe(alertHandler)
  })

  test('that does not exist is refused with the nearest one', () => {
    expect(refusalsOf({ preset: 'PROJECTIONS' })).toEqual([
      'preset must be one of FANOUT, PROJECTION, got "PROJECTIONS"; did you mean PROJECTION?',
    ])
    expect(refusalsOf({ preset: '__proto__' })).toHaveLength(1)
  })

  test.each([null, 'FANOUT', 7])('of %s, which is no binding, is nothing', (given) => {
    expect(withPreset(given)).toBe(given)
  })
})
