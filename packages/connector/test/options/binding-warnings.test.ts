import { createMemoryLogger } from '@waybill/core'
import { expect, test } from 'vitest'
import type { Binding } from '../../src/api/binding.ts'
import { resolveBinding } from '../../src/options/binding-options.ts'
import { bindingOf } from './test-binding.ts'

function warningsOf(options: Partial<Binding>): string[] {
  const logger = createMemoryLogger()
  resolveBinding('orders', bindingOf(options), logger)
  expect(logger.lines.every(({ level, fields }) => level === 'WARN' && fields['binding'] === 'orders')).toBe(true)
  return logger.lines.map(({ text }) => text)
}

test('the defaults and the presets raise no doubt', () => {
  expect(warningsOf({})).toEqual([])
  expect(warningsOf({ preset: 'FANOUT' })).toEqual([])
  expect(warningsOf({ preset: 'PROJECTION' })).toEqual([])
})

test('short timeouts are taken, with a warning for each', () => {
  const short = { maxPollIntervalMs: 4_999, sessionTimeoutMs: 3_000, heartbeatIntervalMs: 999, maxPollRecords: 1 }
  expect(warningsOf(short)).toEqual([
    'maxPollIntervalMs is 4999: values below 5000 are for tests only',
    'sessionTimeoutMs is 3000: values below 10000 are for tests only',
    'heartbeatIntervalMs is 999: values below 1000 are for tests only',
  ])
  const enough = { maxPollIntervalMs: 5_000, sessionTimeoutMs: 10_000, heartbeatIntervalMs: 1_000, maxPollRecords: 1 }
  expect(warningsOf(enough)).toEqual([])
})

test('handlers that would exceed the poll interval lead to a warning, not an error', () => {
  expect(warningsOf({ expectedHandlerMs: 5_000 })).toEqual([
    expect.stringMatching(/^expectedHandlerMs if all attempts .* 5000 ms x 3 attempts x 50 records = 750000 ms/),
  ])
  expect(warningsOf({ expectedHandlerMs: 5_000, failureProfile: 'BLOCKING_UNLIMITED' })).toEqual([])
  expect(warningsOf({ expectedHandlerMs: 50 })).toEqual([])
})

test('a breaker that is configured but not enabled leads to a warning', () => {
  const off = 'circuitBreaker is configured but not enabled: set circuitBreaker.enabled'
  expect(warningsOf({ circuitBreaker: { failureRateThreshold: 30 } })).toEqual([off])
  expect(warningsOf({ circuitBreaker: { failureRateThreshold: 30, enabled: false } })).toEqual([])
  expect(warningsOf({ circuitBreaker: {} })).toEqual([])
})

test('options without an effect lead to warnings', () => {
  expect(
    warningsOf({
      topicRefreshMs: 5_000,
      keyOrder: { maxWaitingRecords: 5, maxWaitingBytes: 5 },
      retry: { blocking: { maxBackoffMs: 5 } },
      dlt: { topic: 'failures', topicSuffix: 'failed' },
    }),
  ).toEqual([
    'keyOrder.maxWaitingRecords has no effect without orderingMode KEY',
    'keyOrder.maxWaitingBytes has no effect without orderingMode KEY',
    'topicRefreshMs has no effect unless topic is an expression',
    'retry.blocking has no effect without failureProfile BLOCKING_UNLIMITED',
    'dlt.topicSuffix has no effect beside dlt.topic',
  ])
  const tiers = [{ delayMs: 5, topicSuffix: 'x', concurrency: 2 }]
  expect(
    warningsOf({ orderingMode: 'KEY', parallelism: 'KEY', keyOrder: { maxWaitingRecords: 5 }, retry: { tiers } }),
  ).toEqual([
    'retry.tiers[0].topicSuffix has no effect with orderingMode KEY',
    'retry.tiers[0].concurrency has no effect with orderingMode KEY',
  ])
})

test('C-87 names of Java classes without a translation lead to warnings', () => {
  const retry = {
    retryableExceptions: ['java.net.SocketTimeoutException', 'com.shop.FlakyException', 'ECONNRESET', 'Order.Late'],
    nonRetryableExceptions: ['com.shop.Invalid', 'java.lang.IllegalArgumentException'],
    skipToTierMapping: { 'org.example.Busy': 2, 'p-limit.Full': 1 },
  }
  expect(warningsOf({ retry })).toEqual(
    [
      ['retry.retryableExceptions[1] names com.shop.FlakyException', 'FlakyError'],
      ['retry.nonRetryableExceptions[0] names com.shop.Invalid', 'Invalid'],
      ['retry.skipToTierMapping names org.example.Busy', 'Busy'],
    ].map(
      ([text, meant]) =>
        `${text}, a Java class without a translation: it matches only errors with exactly this name or code; ` +
        `write the name, the code or the class of an error, such as ${meant}`,
    ),
  )
  expect(warningsOf({ topic: /^orders/, topicRefreshMs: 5_000 })).toEqual([])
})
