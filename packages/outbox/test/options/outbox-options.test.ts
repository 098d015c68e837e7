import { OptionsError } from '@waybill/core'
import { listOptions, resolveOptions } from '@waybill/core/option'
import { adaptiveRetry, Outbox } from '@waybill/outbox'
import { describe, expect, test } from 'vitest'
import { claimRules, poolRules, retryOf } from '../../src/options/outbox-rules.ts'
import { createHarness } from '../support/outbox-harness.ts'

const { base } = createHarness()

test('have every default as specified', () => {
  const { purge: _, ...given } = base
  expect(resolveOptions('options', poolRules, given)).toMatchObject({
    metricsPrefix: 'outbox',
    interceptors: [],
    unroutable: 'DEAD',
    whenDone: 'KEEP',
    intervalMs: 5_000,
    batchSize: 50,
    skipRecentMs: 0,
    coldQueueCapacity: 1_000,
    hotQueueCapacity: 1_000,
    drainTimeoutMs: 5_000,
    inFlightTtlMs: false,
    workerCount: 4,
    maxAttempts: undefined,
    purge: { doneAfterMs: 604_800_000, deadAfterMs: false, batchSize: 500, intervalMs: 3_600_000 },
  })
})

test('try an event ten times, 200 ms to a minute apart', () => {
  const retry = retryOf({ maxAttempts: undefined, retry: undefined })
  const plan = (attempt: number) => retry.plan({ error: null, attempt }, () => 0.5)
  expect([plan(1), plan(2), plan(9), plan(10)]).toEqual([
    { kind: 'RETRY', delayMs: 200 },
    { kind: 'RETRY', delayMs: 400 },
    { kind: 'RETRY', delayMs: 51_200 },
    { kind: 'DEAD' },
  ])
})

test('say why each default is what it is', () => {
  const unexplained = listOptions(claimRules).filter(
    ({ default: fallback, because }) => fallback !== undefined && because === undefined,
  )
  expect(unexplained.map(({ path }) => path)).toEqual(['runtime', 'purge', 'claimLocking'])
})

function createWrong() {
  return Outbox.singleNode({
    ...base,
    workerCount: -1,
    hotQueueCapacity: 0,
    coldQueueCapacity: 0,
    maxAttempts: 0,
    batchSize: 0,
    intervalMs: 0,
    skipRecentMs: -1,
    interceptors: [null],
    unroutable: 'LATER',
    workercount: 3,
  } as never)
}

describe('wrong options', () => {
  test('are reported together, before anything is done', () => {
    expect(createWrong).toThrow(OptionsError)
    try {
      createWrong()
    } catch (error) {
      expect((error as OptionsError).violations.map(({ path }) => path).toSorted()).toEqual(
        [
          'batchSize',
          'coldQueueCapacity',
          'hotQueueCapacity',
          'interceptors[0]',
          'intervalMs',
          'maxAttempts',
          'skipRecentMs',
          'unroutable',
          'workerCount',
          'workercount',
        ].toSorted(),
      )
    }
  })

  test.each(['events', 'database', 'store', 'listeners'])('without %s there is no outbox', (option) => {
    expect(() => Outbox.singleNode({ ...base, [option]: undefined })).toThrow(`${option} is required`)
  })

  test('two places that say how often it is tried are one too many', () => {
    expect(() => Outbox.singleNode({ ...base, maxAttempts: 3, retry: adaptiveRetry() })).toThrow(
      'maxAttempts cannot be combined with retry',
    )
  })

  test.each([0, -1, 1.5])('a lease of %d ms is none', (timeoutMs) => {
    expect(() => Outbox.multiNode({ ...base, claimLocking: { timeoutMs } })).toThrow('claimLocking.timeoutMs must be')
  })

  test('an owner has to fit its column', () => {
    const claimLocking = { owner: 'x'.repeat(56), timeoutMs: 1_000 }
    expect(() => Outbox.multiNode({ ...base, claimLocking })).toThrow('claimLocking.owner must be')
  })
})

test('a factory does no IO', () => {
  const harness = createHarness()
  Outbox.singleNode(harness.base)
  Outbox.multiNode({ ...harness.base, claimLocking: { timeoutMs: 1_000 } })
  expect([harness.outbox.calls, harness.runtime.pending]).toEqual([[], 0])
})

test.each([
  ['Outbox.singleNode', 'hotQueueCapacity', Outbox.singleNode],
  ['Outbox.singleNode', 'coldQueueCapacity', Outbox.singleNode],
  ['Outbox.keyed', 'maxBuffered', Outbox.keyed],
  ['Outbox.keyed', 'maxHeldKeys', Outbox.keyed],
] as const)('%s: %s ends where a process does', (_, option, create) => {
  expect(() => create({ ...base, [option]: 1_000_000 })).not.toThrow()
  expect(() => create({ ...base, [option]: 1_000_001 })).toThrow(OptionsError)
  expect(() => create({ ...base, [option]: 1_000_001 })).toThrow(option)
})
