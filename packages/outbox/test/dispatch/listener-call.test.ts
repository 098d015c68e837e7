import { ArgumentError, createMemoryLogger, NonRetryableError, type OutboxListener, StateError } from '@waybill/core'
import { systemClock } from '@waybill/core/internal'
import {
  afterDispatch,
  beforeDispatch,
  createListenerRegistry,
  exponentialRetry,
  type OutboxInterceptor,
} from '@waybill/outbox'
import { describe, expect, test } from 'vitest'
import { createDelivery, type DeliverableRow, type DeliveryDeps } from '../../src/dispatch/listener-call.ts'
import { createDestinations, orderEvent } from '../support/outbox-harness.ts'

const failure = new StateError('no')

function fail(): never {
  throw failure
}

function rowOf(attempts = 0): DeliverableRow {
  return { event: orderEvent(1), attempts, attempt: attempts + 1, signal: new AbortController().signal }
}

function deliveryOf(listener: OutboxListener | null, parts: Partial<DeliveryDeps> = {}) {
  const logger = createMemoryLogger()
  const listeners = createListenerRegistry()
  if (listener !== null) listeners.register('order.placed', listener)
  const deliver = createDelivery({
    listeners,
    interceptors: [],
    destinations: createDestinations({ clock: systemClock, random: () => 0.5 }),
    retry: exponentialRetry({ maxAttempts: 3 }),
    unroutable: 'DEAD',
    runtime: { random: () => 0.5, clock: systemClock, logger, failpoint: () => {} },
    ...parts,
  })
  return { deliver, logger }
}

function recording(name: string, trail: string[]): OutboxInterceptor {
  return {
    beforeDispatch: () => void trail.push(`before ${name}`),
    afterDispatch: (_event, error) => void trail.push(`after ${name} ${error === null ? 'ok' : 'failed'}`),
  }
}

describe('interceptors', () => {
  test('run before in order and after in reverse, with null on success', async () => {
    const trail: string[] = []
    const { deliver } = deliveryOf(async () => void trail.push('listener'), {
      interceptors: [recording('a', trail), recording('b', trail)],
    })
    expect(await deliver(rowOf())).toEqual({ kind: 'DONE' })
    expect(trail).toEqual(['before a', 'before b', 'listener', 'after b ok', 'after a ok'])
  })

  test('are told what the listener failed with', async () => {
    const told: unknown[] = []
    const { deliver } = deliveryOf(() => Promise.reject(failure), {
      interceptors: [afterDispatch((_, error) => void told.push(error))],
    })
    await deliver(rowOf())
    expect(told).toEqual([failure])
  })

  test('one that throws before makes it a failure without the listener, and only those entered are left', async () => {
    const trail: string[] = []
    const { deliver } = deliveryOf(async () => void trail.push('listener'), {
      interceptors: [recording('a', trail), beforeDispatch(() => Promise.reject(failure)), recording('c', trail)],
    })
    expect(await deliver(rowOf())).toMatchObject({ kind: 'RETRY', error: 'StateError: no' })
    expect(trail).toEqual(['before a', 'after a failed'])
  })

  test('one that throws after is logged and changes nothing', async () => {
    const trail: string[] = []
    const { deliver, logger } = deliveryOf(async () => {}, {
      interceptors: [recording('a', trail), afterDispatch(() => Promise.reject(failure))],
    })
    expect(await deliver(rowOf())).toEqual({ kind: 'DONE' })
    expect(trail).toEqual(['before a', 'after a ok'])
    expect(logger.lines.map(({ level, fields }) => [level, fields['err']])).toEqual([['ERROR', failure]])
  })
})

describe('the outcome', () => {
  test.each([
    [0, { kind: 'RETRY', delayMs: 200, error: 'StateError: no', failureType: 'SYSTEM' }],
    [1, { kind: 'RETRY', delayMs: 400, error: 'StateError: no', failureType: 'SYSTEM' }],
    [2, { kind: 'DEAD', error: 'StateError: no', failureType: 'SYSTEM' }],
    [7, { kind: 'DEAD', error: 'StateError: no', failureType: 'SYSTEM' }],
  ])('of a failure after %i others is by the attempts used', async (attempts, outcome) => {
    const { deliver, logger } = deliveryOf(() => Promise.reject(failure))
    expect(await deliver(rowOf(attempts))).toEqual(outcome)
    // Of one that is DEAD its settlement tells.
    const error = 'StateError: no'
    expect(logger.lines.map(({ level, fields }) => [level, fields['error']])).toEqual(
      outcome.kind === 'RETRY' ? [['WARN', error]] : [],
    )
  })

  test('of a listener that throws in its own turn is the same', async () => {
    const { deliver } = deliveryOf(() => {
      throw failure
    })
    expect(await deliver(rowOf())).toMatchObject({ kind: 'RETRY' })
  })

  test('of what trying again cannot help is DEAD at once', async () => {
    const { deliver } = deliveryOf(() => Promise.reject(new NonRetryableError('never')))
    expect(await deliver(rowOf())).toMatchObject({ kind: 'DEAD' })
  })

  test('of a listener that asks for more time is RETRY then, however many attempts it had', async () => {
    const { deliver } = deliveryOf(async () => ({ retryAfterMs: 1_234 }))
    expect(await deliver(rowOf(99))).toMatchObject({ kind: 'RETRY', delayMs: 1_234 })
  })

  test.each([Number.NaN, -1, Number.POSITIVE_INFINITY])(
    'of a wait of %d is a failure that says so',
    async (retryAfterMs) => {
      const { deliver } = deliveryOf(async () => ({ retryAfterMs }))
      expect(await deliver(rowOf())).toMatchObject({
        kind: 'RETRY',
        error: expect.stringContaining(ArgumentError.name),
      })
    },
  )

  test('of an event without a listener is DEAD at once, naming both types', async () => {
    const { deliver } = deliveryOf(null)
    expect(await deliver(rowOf())).toMatchObject({
      kind: 'DEAD',
      error: expect.stringContaining('No listener is registered for __GLOBAL__:order.placed'),
    })
  })

  test('of an event without a listener is RETRY where another node may know it', async () => {
    const { deliver } = deliveryOf(null, { unroutable: 'RETRY' })
    expect(await deliver(rowOf())).toMatchObject({ kind: 'RETRY' })
    expect(await deliver(rowOf(2))).toMatchObject({ kind: 'DEAD' })
  })

  test('of a listener that answers null is DONE', async () => {
    const { deliver } = deliveryOf(async () => null as never)
    expect(await deliver(rowOf())).toEqual({ kind: 'DONE' })
  })

  test('never waits longer than a database can compute', async () => {
    const { deliver } = deliveryOf(async () => ({ retryAfterMs: 1e300 }))
    expect(await deliver(rowOf())).toMatchObject({ kind: 'RETRY', delayMs: 3_000_000_000_000 })
  })

  test.each([
    ['throws', fail],
    ['answers no number', () => ({ kind: 'RETRY', delayMs: Number.NaN }) as const],
    ['answers less than nothing', () => ({ kind: 'RETRY', delayMs: -1 }) as const],
  ])('of a failure whose policy %s is RETRY in a minute', async (_, plan) => {
    const { deliver, logger } = deliveryOf(() => Promise.reject(failure), { retry: { plan } })
    expect(await deliver(rowOf(99))).toEqual({
      kind: 'RETRY',
      delayMs: 60_000,
      error: 'StateError: no',
      failureType: 'SYSTEM',
    })
    expect(logger.lines.map(({ level }) => level)).toEqual(['ERROR', 'WARN'])
  })

  test('of a thrown value that throws when it is looked at is RETRY in a minute', async () => {
    const hostile = new Proxy({}, { get: fail, getPrototypeOf: fail, ownKeys: fail })
    const { deliver } = deliveryOf(() => Promise.reject(hostile))
    expect(await deliver(rowOf())).toMatchObject({ kind: 'RETRY', delayMs: 60_000 })
  })

  test('has an error text that every database can store', async () => {
    const { deliver } = deliveryOf(() => Promise.reject(new StateError('a\0b')))
    expect(await deliver(rowOf())).toMatchObject({ error: 'StateError: a\u{FFFD}b' })
  })
})
