import { listOptions } from '@waybill/core/option'
import { describe, expect, test } from 'vitest'
import { bindingRules, computedDefaults } from '../../src/options/binding-rules.ts'
import { bindingOf, refusalsOf, resolved } from './test-binding.ts'

const rows = listOptions(bindingRules)
const handler = (): void => {}

describe('a binding of topic, group and handler alone', () => {
  test('has every default as specified', () => {
    expect(resolved({ handler })).toEqual({
      name: 'orders',
      cluster: 'default',
      topic: 'orders.events',
      selection: 'orders.events',
      effective: expect.any(Object),
      forTopic: expect.any(Function),
      groupId: 'billing',
      handler,
      filter: undefined,
      listenerType: 'SINGLE',
      ackMode: 'MANUAL_IMMEDIATE',
      concurrency: 1,
      maxPollRecords: 50,
      maxPollIntervalMs: 600_000,
      sessionTimeoutMs: 45_000,
      heartbeatIntervalMs: 10_000,
      pollTimeoutMs: 100,
      idleBetweenPollsMs: 0,
      pollIntervalSafetyThreshold: 0.7,
      topicRefreshMs: 30_000,
      autoStartup: true,
      staticMembership: false,
      instanceId: undefined,
      startFrom: 'EARLIEST',
      orderingMode: 'RELAXED_IN_RETRY',
      parallelism: 'PARTITION',
      maxInFlight: 64,
      maxAhead: 1_000,
      maxBufferedRecords: 1_000,
      maxBufferedBytes: 16_777_216,
      maxBatchBytes: 268_435_456,
      oversizedBatch: 'HALT',
      handlerTimeoutMs: false,
      expectedHandlerMs: undefined,
      failureProfile: 'TIERED',
      strictExhaustion: 'DLT',
      budgetExceededRouting: 'DLT',
      batchFailureStrategy: 'SEEK_TO_FAILED',
      batchMaxRedeliveries: 3,
      onDeadKey: 'RELEASE',
      maxWaitingRecords: 1_000,
      maxWaitingBytes: 16_777_216,
      derivedPartitions: undefined,
      deduplicate: undefined,
      transactional: false,
      tier0: { maxAttempts: 3, backoff: { initialMs: 100, multiplier: 2, maxMs: 2_000, jitterExceedsMax: false } },
      tiers: [10_000, 60_000, 300_000].map((delayMs, at) => ({
        tier: at + 1,
        topic: `orders.events.retry-${at + 1}`,
        groupId: `billing-retry-${at + 1}`,
        delayMs,
        maxAttempts: 3,
        concurrency: 1,
      })),
      exceptions: {
        retryableExceptions: undefined,
        nonRetryableExceptions: [],
        skipToTierMapping: [],
        classifier: undefined,
      },
      blockingBackoff: { initialMs: 1_000, multiplier: 2, maxMs: 30_000, jitterExceedsMax: false },
      circuitBreaker: expect.objectContaining({
        enabled: false,
        failureRateThreshold: 50,
        slowCallRateThreshold: 80,
        slowCallDurationMs: 5_000,
        waitDurationInOpenStateMs: 60_000,
        slidingWindowSize: 100,
        minimumNumberOfCalls: 10,
        permittedNumberOfCallsInHalfOpenState: 5,
        automaticPauseOnOpen: true,
      }),
      deadLetter: {
        topic: 'orders.events.DLT',
        strategy: 'STORE_ONLY',
        format: 'HEADERS',
        alertHandler: undefined,
        recordHandler: undefined,
        redact: expect.any(Function),
        replay: {
          maxReplays: 3,
          cooldownMs: 3_600_000,
          batchSize: 100,
          intervalMs: 60_000,
          target: 'ORIGINAL',
          groupId: 'billing-dlt-replay',
        },
      },
      sharedTopics: ['retry-1', 'retry-2', 'retry-3', 'DLT'].map((suffix) => `orders.events.${suffix}`),
      waitingTopic: undefined,
      shutdownTimeoutMs: 30_000,
    })
  })

  test('takes what handleEvents made as a handler, and nothing else', () => {
    expect(refusalsOf({ handler: { handlers: {} } })).toEqual([])
    for (const other of [{}, null, 'f', { handlers: null }])
      expect(refusalsOf({ handler: other })).toEqual([
        expect.stringMatching(/^handler must be a function, .* or the result of handleEvents/),
      ])
  })
})

describe('the rules of a binding', () => {
  test('say why each default is what it is', () => {
    const unexplained = rows.filter(
      (row) => !row.required && row.because === undefined && row.default !== undefined && !isEmptyObject(row.default),
    )
    expect(unexplained.map(({ path }) => path)).toEqual([])
  })

  test('say in words what holds where there is no fixed default, and of no other option', () => {
    const computed = rows.filter((row) => !row.required && row.default === undefined).map(({ path }) => path)
    expect(computed.toSorted()).toEqual(Object.keys(computedDefaults).toSorted())
  })

  test('refuse whatever is zero or below where only more makes sense', () => {
    const counts = [
      'concurrency',
      'maxPollRecords',
      'maxPollIntervalMs',
      'sessionTimeoutMs',
      'heartbeatIntervalMs',
      'pollTimeoutMs',
      'pollIntervalSafetyThreshold',
      'maxInFlight',
      'maxAhead',
      'maxBufferedRecords',
      'maxBufferedBytes',
      'maxBatchBytes',
      'handlerTimeoutMs',
      'expectedHandlerMs',
      'derivedPartitions',
    ]
    for (const option of counts)
      for (const value of [0, -1, Number.NaN, '5'])
        expect(refusalsOf({ [option]: value })).toEqual([expect.stringMatching(new RegExp(`^${option} must be `))])
    for (const option of ['maxWaitingRecords', 'maxWaitingBytes'])
      for (const value of [0, -1, Number.NaN, '5'])
        expect(refusalsOf({ keyOrder: { [option]: value } })).toEqual([
          expect.stringMatching(new RegExp(`^keyOrder\\.${option} must be `)),
        ])
  })

  test.each([
    ['a session timeout beyond 32 bits', { sessionTimeoutMs: 2 ** 40 }, 'sessionTimeoutMs must be whole milliseconds'],
    [
      'an interval that no timer can wait',
      { maxPollIntervalMs: 2 ** 31 },
      'maxPollIntervalMs must be whole milliseconds',
    ],
    ['a topic that Kafka would refuse', { topic: 'orders/events' }, 'topic must be a topic name'],
    ['an async filter', { filter: async () => true }, 'filter must be a function that is not async, got a function'],
    ['an empty group', { groupId: '' }, 'groupId must be a text that is not empty'],
    ['an unknown word', { ackMode: 'BATCH' }, 'ackMode must be one of MANUAL, MANUAL_IMMEDIATE, got "BATCH"'],
    ['an unknown option', { group_id: 'a' }, 'group_id is not an option; did you mean groupId?'],
    [
      'too many tiers',
      { retry: { tiers: Array.from({ length: 17 }, () => ({})) } },
      'retry.tiers must be a list of at most 16',
    ],
    ['a suffix with a slash', { dlt: { topicSuffix: 'a/b' } }, 'dlt.topicSuffix must be at most 100 letters'],
    [
      'an alert handler that is none',
      { dlt: { alertHandler: {} } },
      'dlt.alertHandler must be an object with a function',
    ],
  ])('refuse %s', (_, options, problem) => {
    expect(refusalsOf({ ...bindingOf(), ...options })).toEqual([expect.stringContaining(problem)])
  })
})

function isEmptyObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0
}
