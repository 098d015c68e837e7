/** The tables of the specification's configuration model, row by row, with all defaults. */

import { listOptions } from '@waybill/core/option'
import { describe, expect, test } from 'vitest'
import { bindingRules } from '../../src/options/binding-rules.ts'
import { refusalsOf, resolved } from './test-binding.ts'

const optionByPath = new Map(listOptions(bindingRules).map((row) => [row.path, row]))

/** Rows whose default is a value: id, option, default. */
const fixed: readonly (readonly [id: string, path: string, value: unknown])[] = [
  ['S0-012', 'listenerType', 'SINGLE'],
  ['S0-013', 'ackMode', 'MANUAL_IMMEDIATE'],
  ['S0-014', 'concurrency', 1],
  ['S0-015', 'maxPollRecords', 50],
  ['S0-016', 'maxPollIntervalMs', 600_000],
  ['S0-017', 'sessionTimeoutMs', 45_000],
  ['S0-018', 'heartbeatIntervalMs', 10_000],
  ['S0-019', 'autoStartup', true],
  ['S0-020', 'staticMembership', false],
  ['S0-021', 'cluster', 'default'],
  ['S0-023', 'batchFailureStrategy', 'SEEK_TO_FAILED'],
  ['S0-024', 'orderingMode', 'RELAXED_IN_RETRY'],
  ['S0-025', 'retry.tier0.maxAttempts', 3],
  ['S0-026', 'retry.tier0.initialBackoffMs', 100],
  ['S0-027', 'retry.tier0.multiplier', 2],
  ['S0-028', 'retry.tier0.maxBackoffMs', 2_000],
  ['S0-030', 'retry.tiers[].maxAttempts', 3],
  ['S0-030', 'retry.tiers[].concurrency', 1],
  ['S0-032', 'retry.nonRetryableExceptions', []],
  ['S0-033', 'retry.skipToTierMapping', []],
  ['S0-034', 'circuitBreaker.enabled', false],
  ['S0-035', 'circuitBreaker.failureRateThreshold', 50],
  ['S0-036', 'circuitBreaker.slowCallRateThreshold', 80],
  ['S0-037', 'circuitBreaker.slowCallDurationMs', 5_000],
  ['S0-038', 'circuitBreaker.waitDurationInOpenStateMs', 60_000],
  ['S0-039', 'circuitBreaker.slidingWindowSize', 100],
  ['S0-040', 'circuitBreaker.minimumNumberOfCalls', 10],
  ['S0-041', 'circuitBreaker.permittedNumberOfCallsInHalfOpenState', 5],
  ['S0-042', 'circuitBreaker.automaticPauseOnOpen', true],
  ['S0-043', 'dlt.topicSuffix', 'DLT'],
  ['S0-044', 'dlt.strategy', 'STORE_ONLY'],
  ['S0-045', 'dlt.replay.maxReplays', 3],
  ['S0-045', 'dlt.replay.cooldownMs', 3_600_000],
  ['S0-045', 'dlt.replay.batchSize', 100],
  ['S0-051', 'shutdownTimeoutMs', 30_000],
  ['S0-051', 'pollIntervalSafetyThreshold', 0.7],
  ['S0-051', 'pollTimeoutMs', 100],
  ['S0-051', 'idleBetweenPollsMs', 0],
  ['C-15', 'strictExhaustion', 'DLT'],
]

/** The words that an option takes. */
const words: readonly (readonly [id: string, path: string, words: readonly string[]])[] = [
  ['S0-012', 'listenerType', ['SINGLE', 'BATCH']],
  ['S0-013', 'ackMode', ['MANUAL', 'MANUAL_IMMEDIATE']],
  ['S0-023', 'batchFailureStrategy', ['SEEK_TO_FAILED', 'DLQ_AND_CONTINUE']],
  ['S0-024', 'orderingMode', ['RELAXED_IN_RETRY', 'STRICT']],
  ['S0-044', 'dlt.strategy', ['STORE_ONLY', 'ALERT_AND_STORE', 'SCHEDULED_REPLAY', 'CUSTOM']],
]

describe('the configuration table', () => {
  test.each(fixed)('%s has %s with its default %j', (_, path, value) => {
    expect(optionByPath.get(path)).toMatchObject({ required: false, default: value })
  })

  test.each(words)('%s has %s with the words %j', (_, path, wanted) => {
    const known = /^one of (.*)$/.exec(optionByPath.get(path)?.expects ?? '')?.[1]?.split(', ')
    expect(known).toEqual(expect.arrayContaining([...wanted]))
  })

  test.each([
    ['S0-010', 'topic'],
    ['S0-011', 'groupId'],
  ])('%s requires %s', (_, path) => {
    expect(optionByPath.get(path)?.required).toBe(true)
    expect(refusalsOf({ [path]: undefined })).toEqual([expect.stringMatching(new RegExp(`^${path} is required: `))])
  })

  test('S0-015 polls 50 records for a SINGLE listener and 200 for a BATCH one', () => {
    expect(resolved().maxPollRecords).toBe(50)
    expect(resolved({ listenerType: 'SINGLE' }).maxPollRecords).toBe(50)
    expect(resolved({ listenerType: 'BATCH' }).maxPollRecords).toBe(200)
    expect(resolved({ listenerType: 'BATCH', maxPollRecords: 10 }).maxPollRecords).toBe(10)
  })

  test('S0-022 reads retry, circuitBreaker and dlt that are absent, or empty, as all of their defaults', () => {
    const [absent, empty] = [resolved(), resolved({ retry: {}, circuitBreaker: {}, dlt: {} })]
    for (const part of ['tier0', 'tiers', 'exceptions', 'circuitBreaker', 'deadLetter'] as const)
      expect(empty[part]).toEqual(absent[part])
  })

  test('S0-029 S0-030 has three tiers of 10 s, 60 s and 300 s, three attempts each, called after their number', () => {
    expect(
      resolved().tiers.map(({ topic, delayMs, maxAttempts, concurrency }) => ({
        topic,
        delayMs,
        maxAttempts,
        concurrency,
      })),
    ).toEqual(
      [10_000, 60_000, 300_000].map((delayMs, at) => ({
        topic: `orders.events.retry-${at + 1}`,
        delayMs,
        maxAttempts: 3,
        concurrency: 1,
      })),
    )
  })

  test('S0-031 tries every error again unless a list says which', () => {
    expect(resolved().exceptions.retryableExceptions).toBeUndefined()
  })

  test('C-15 has no tiers with STRICT unless they are written down, which is refused', () => {
    expect(resolved({ orderingMode: 'STRICT' }).tiers).toEqual([])
    expect(resolved({ orderingMode: 'STRICT', retry: { tiers: [] } }).tiers).toEqual([])
    expect(refusalsOf({ orderingMode: 'STRICT', retry: { tiers: [{ delayMs: 1 }] } })).toEqual([
      expect.stringMatching(/^retry\.tiers must be left out or empty/),
    ])
  })
})
