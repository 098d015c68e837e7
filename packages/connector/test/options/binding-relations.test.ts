import { describe, expect, test } from 'vitest'
import { refusalsOf, resolved } from './test-binding.ts'

const keyed = { orderingMode: 'KEY', parallelism: 'KEY' } as const

describe('the session of a binding', () => {
  test('lasts at least three heartbeats', () => {
    expect(refusalsOf({ sessionTimeoutMs: 30_000, heartbeatIntervalMs: 10_000 })).toEqual([])
    expect(refusalsOf({ sessionTimeoutMs: 29_999, heartbeatIntervalMs: 10_000 })).toEqual([
      'sessionTimeoutMs must be at least 3 x heartbeatIntervalMs (3 x 10000 = 30000), got 29999: ' +
        'one lost heartbeat would end the session',
    ])
  })
})

describe('the retry budget', () => {
  test('is refused with the arithmetic that an operator would do', () => {
    const tier0 = { maxAttempts: 5, initialBackoffMs: 1_000, maxBackoffMs: 4_000 }
    expect(refusalsOf({ retry: { tier0 }, maxPollRecords: 50 })).toEqual([
      'retry.tier0 waits longer than a poll may take: 4 waits between 5 attempts: 1000 + 2000 + 4000 + 4000 = 11000 ms; ' +
        'x 50 records a poll = 550000 ms, which must be below 0.7 x 600000 ms of maxPollIntervalMs = 420000 ms; ' +
        'lower maxAttempts, the backoffs or maxPollRecords, or raise maxPollIntervalMs',
    ])
  })

  test('must be strictly below the limit', () => {
    const retry = { tier0: { maxAttempts: 2, initialBackoffMs: 700, maxBackoffMs: 700 } }
    expect(refusalsOf({ retry, maxPollRecords: 10, maxPollIntervalMs: 10_000 })).toHaveLength(1)
    expect(refusalsOf({ retry, maxPollRecords: 10, maxPollIntervalMs: 10_001 })).toEqual([])
  })

  test('counts one wait less than attempts, without jitter: so the consumer of the chat fits', () => {
    expect(refusalsOf({ maxPollRecords: 500, maxPollIntervalMs: 300_000 })).toEqual([])
  })

  test('does not bind BLOCKING_UNLIMITED, which waits outside the poll loop', () => {
    const retry = { tier0: { maxAttempts: 1_000 } }
    expect(refusalsOf({ retry })).toHaveLength(1)
    expect(refusalsOf({ retry, failureProfile: 'BLOCKING_UNLIMITED' })).toEqual([])
  })
})

describe('ordering and parallelism', () => {
  test.each(['PARTITION', 'UNORDERED'])('KEY is refused with %s', (parallelism) => {
    expect(refusalsOf({ orderingMode: 'KEY', parallelism })).toEqual([
      `parallelism must be KEY with orderingMode KEY, got ${parallelism}: only lanes by key can block a single key`,
    ])
  })

  test('KEY and transactional are refused with dead letters for oversized batches, and the others go with them', () => {
    const letters = { oversizedBatch: 'DEAD_LETTER' }
    expect(refusalsOf({ orderingMode: 'KEY', parallelism: 'KEY', ...letters })).toEqual([
      expect.stringMatching(/^oversizedBatch must be HALT with orderingMode KEY, got DEAD_LETTER: the keys/),
    ])
    expect(refusalsOf({ transactional: true, ...letters })).toEqual([
      expect.stringMatching(/^oversizedBatch must be HALT with transactional, got DEAD_LETTER/),
    ])
    for (const orderingMode of ['STRICT', 'RELAXED_IN_RETRY'])
      expect(refusalsOf({ orderingMode, ...letters })).toEqual([])
  })

  test('STRICT is refused with UNORDERED and goes with the others', () => {
    expect(refusalsOf({ orderingMode: 'STRICT', parallelism: 'UNORDERED' })).toHaveLength(1)
    for (const parallelism of ['PARTITION', 'KEY'])
      expect(refusalsOf({ orderingMode: 'STRICT', parallelism })).toEqual([])
  })
})

describe('tiers', () => {
  test('have delays that rise strictly', () => {
    const tiers = [{ delayMs: 10 }, { delayMs: 10 }, { delayMs: 5 }, { delayMs: 6 }]
    expect(refusalsOf({ retry: { tiers } })).toEqual([
      'retry.tiers[1].delayMs must be above that of the previous tier, 10, got 10',
      'retry.tiers[2].delayMs must be above that of the previous tier, 10, got 5',
    ])
  })

  test('beyond the third say their delay', () => {
    expect(refusalsOf({ retry: { tiers: [{}, {}, {}, {}] } })).toEqual([
      'retry.tiers[3].delayMs is required: only the first three tiers have a default',
    ])
  })

  test('are refused with STRICT when they are written down', () => {
    expect(refusalsOf({ orderingMode: 'STRICT', retry: { tiers: [{ delayMs: 10 }] } })).toEqual([
      expect.stringMatching(/^retry\.tiers must be left out or empty with failureProfile TIERED, orderingMode STRICT/),
    ])
  })

  test('are the only ones that an error may skip to', () => {
    class RateLimitError extends Error {}
    expect(refusalsOf({ retry: { skipToTierMapping: { RateLimitError: 3 } } })).toEqual([])
    expect(refusalsOf({ retry: { skipToTierMapping: { RateLimitError: 4 } } })).toEqual([
      'retry.skipToTierMapping maps RateLimitError to tier 4, and the tiers are 1 to 3',
    ])
    expect(refusalsOf({ orderingMode: 'STRICT', retry: { skipToTierMapping: [[RateLimitError, 1]] } })).toEqual([
      'retry.skipToTierMapping maps RateLimitError to tier 1, and the binding has no tiers',
    ])
  })
})

describe('errors, breaker and alerts', () => {
  test('an error is retryable or not', () => {
    const retry = { retryableExceptions: ['A', 'B'], nonRetryableExceptions: ['B'] }
    expect(refusalsOf({ retry })).toEqual([
      'retry.nonRetryableExceptions[0] must not be in retryableExceptions too: B is in both',
    ])
  })

  test('the breaker can judge only what its window holds', () => {
    expect(refusalsOf({ circuitBreaker: { slidingWindowSize: 5 } })).toEqual([
      expect.stringMatching(/^circuitBreaker\.minimumNumberOfCalls must be at most slidingWindowSize \(5\), got 10/),
    ])
  })

  describe('C-77 a probe', () => {
    const slow = { handlerTimeoutMs: 30_000, circuitBreaker: { enabled: true } }

    test('may take until the last attempt of tier 0, so that a record that always fails is given up', () => {
      expect(refusalsOf(slow)).toEqual([
        'circuitBreaker.probeTimeoutMs must be above the longest time until the last attempt of tier 0: ' +
          '2 x 30000 ms of handlerTimeoutMs, and waits of 450 ms = 60450 ms, got 60000: ' +
          'a record that always fails, alone in its binding, would never be dead; ' +
          'raise it, or lower handlerTimeoutMs or retry.tier0.maxAttempts',
      ])
      expect(refusalsOf({ ...slow, circuitBreaker: { enabled: true, probeTimeoutMs: 60_451 } })).toEqual([])
      expect(refusalsOf({ ...slow, circuitBreaker: { enabled: true, slowCallDurationMs: 60_451 } })).toEqual([])
    })

    test('counts only the waits without a handlerTimeoutMs', () => {
      const circuitBreaker = { enabled: true, probeTimeoutMs: 450, slowCallDurationMs: 1 }
      expect(refusalsOf({ circuitBreaker })).toEqual([
        expect.stringContaining('last attempt of tier 0: waits of 450 ms = 450 ms'),
      ])
      expect(refusalsOf({ circuitBreaker: { ...circuitBreaker, probeTimeoutMs: 451 } })).toEqual([])
    })

    test.each([
      ['there is one attempt', { retry: { tier0: { maxAttempts: 1 } } }],
      ['the breaker is off', { circuitBreaker: { enabled: false } }],
      ['records that are refused go on to a tier', { circuitBreaker: { enabled: true, automaticPauseOnOpen: false } }],
      ['nothing is given up', { failureProfile: 'BLOCKING_UNLIMITED' }],
    ])('may take what it likes where %s', (_, options) => {
      expect(refusalsOf({ ...slow, ...options })).toEqual([])
    })
  })

  test('an alert handler is there exactly when it is called', () => {
    const alertHandler = { onDeadLetter() {} }
    expect(refusalsOf({ dlt: { strategy: 'ALERT_AND_STORE', alertHandler } })).toEqual([])
    expect(refusalsOf({ dlt: { strategy: 'ALERT_AND_STORE' } })).toEqual([
      'dlt.alertHandler is required with strategy ALERT_AND_STORE',
    ])
    expect(refusalsOf({ dlt: { alertHandler } })).toEqual([
      'dlt.alertHandler is never called with strategy STORE_ONLY: use ALERT_AND_STORE',
    ])
  })
})

describe('the names that a binding makes', () => {
  test('are names that Kafka takes', () => {
    expect(refusalsOf({ topic: 'a'.repeat(243) })).toEqual(
      Array(3).fill(expect.stringMatching(/^topic produces the name a+\.retry-\d, which is not a topic name/)),
    )
    expect(refusalsOf({ topic: 'a'.repeat(240), dlt: { topicSuffix: 'b'.repeat(10) } })).toEqual([
      expect.stringMatching(/^dlt\.topicSuffix produces the name /),
    ])
    expect(refusalsOf({ ...keyed, topic: 'a'.repeat(235) })).toEqual([
      expect.stringMatching(/^topic produces the name /),
    ])
  })

  test('hold a group only if it can be part of one', () => {
    expect(resolved({ groupId: 'my group!' }).groupId).toBe('my group!')
    expect(refusalsOf({ groupId: 'my group!', retryTopicNaming: 'PER_GROUP' })).toEqual([
      expect.stringMatching(/^groupId is part of topic names with retryTopicNaming PER_GROUP: must be a topic name/),
    ])
    expect(refusalsOf({ ...keyed, groupId: 'my group!' })).toEqual([
      expect.stringMatching(/^groupId is part of topic names with orderingMode KEY/),
    ])
  })

  test('differ from each other and from the source', () => {
    const tiers = [
      { delayMs: 1, topicSuffix: 'DLT' },
      { delayMs: 2, topicSuffix: 'x' },
      { delayMs: 3, topicSuffix: 'x' },
    ]
    expect(refusalsOf({ retry: { tiers } })).toEqual([
      'retry.tiers[2].topicSuffix produces the name orders.events.x, which retry.tiers[1].topicSuffix already has: ' +
        'each topic needs its own',
      'dlt.topicSuffix produces the name orders.events.DLT, which retry.tiers[0].topicSuffix already has: each topic needs its own',
    ])
    expect(refusalsOf({ dlt: { topic: 'orders.events' } })).toEqual([
      'dlt.topic produces the name orders.events, which topic already has: each topic needs its own',
    ])
  })
})

describe('what a commit has to remember', () => {
  test('fits into its metadata, with the arithmetic where it does not', () => {
    expect(refusalsOf({ ...keyed, maxAhead: 2_000, keyOrder: { maxWaitingRecords: 5_000 } })).toEqual([])
    expect(refusalsOf({ ...keyed, maxAhead: 4_000, keyOrder: { maxWaitingRecords: 5_000 } })).toEqual([
      'maxAhead exceeds the metadata of a commit: ' +
        '4000 offsets of maxAhead + 2 x (5000 of keyOrder.maxWaitingRecords + 4000) = 22000, at most 16384 fit; ' +
        '4067 characters, at most 4000 fit',
    ])
    expect(refusalsOf({ maxAhead: 4_000, keyOrder: { maxWaitingRecords: 5_000 } })).toEqual([])
  })
})
