import { createMemoryLogger, StateError } from '@waybill/core'
import { failureKindOf } from '@waybill/core/internal'
import { describe, expect, test } from 'vitest'
import { readTrail } from '../../src/records/trail.ts'
import { fetched, headerTexts, textRecord } from '../records/fetched.ts'
import { contextOf } from './order-events.ts'

const clockAt = (now: number, monotonic: number) => ({ now: () => now, monotonic: () => monotonic })

describe('the context of a delivery', () => {
  test('S0-162 adds binding, time of reception and instance to the headers', () => {
    const record = fetched(textRecord('orders', [['tenant', 't-1']]))
    const context = contextOf(
      record,
      { clock: clockAt(10_000, 700) },
      { handedOverAt: 500, consumerInstance: 'web-7-1' },
    )
    expect(headerTexts(context)).toEqual([
      ['tenant', 't-1'],
      ['x-eventbus-binding-name', 'shipping'],
      ['x-eventbus-received-timestamp', '9800'],
      ['x-eventbus-consumer-instance', 'web-7-1'],
    ])
  })

  test('C-73 hides forged engine headers of a source topic', () => {
    const forged = textRecord('orders', [
      ['x-eventbus-binding-name', 'billing'],
      ['x-eventbus-original-offset', '7'],
      ['tenant', 't-1'],
    ])
    const context = contextOf(fetched(forged))
    expect(context.headers.getAll('x-eventbus-binding-name').map(String)).toEqual(['shipping'])
    expect(context.headers.has('x-eventbus-original-offset')).toBe(false)
    expect(context.headers.text('tenant')).toBe('t-1')
  })

  test('says the place of the first delivery, on a tier too', () => {
    const record = fetched(
      textRecord('orders.retry-1', [
        ['x-eventbus-original-topic', 'orders'],
        ['x-eventbus-original-partition', '5'],
        ['x-eventbus-original-offset', '99'],
      ]),
    )
    const context = contextOf(
      record,
      {},
      { kind: 'TIER', tier: 1, trail: readTrail(record, 'TIER', 'shipping-group') },
      2,
    )
    expect(context.original).toMatchObject({ topic: 'orders', partition: 5, offset: 99n })
    expect([context.tier, context.attempt]).toEqual([1, 2])
  })

  test('refuses for good what is sent in a binding without transactions', () => {
    const context = contextOf(fetched(textRecord('orders')))
    let refusal: unknown
    try {
      context.send({ topic: 'shipments', key: null, value: null })
    } catch (error) {
      refusal = error
    }
    expect(refusal).toBeInstanceOf(StateError)
    expect(refusal).toMatchObject({
      code: 'WAYBILL_NOT_TRANSACTIONAL',
      hint: expect.stringContaining('transactional: true'),
    })
    expect(failureKindOf(refusal)).toBe('PERMANENT')
  })

  test('computes trail, headers and logger on first access only', () => {
    const made: string[] = []
    const logger = { ...createMemoryLogger(), child: () => (made.push('logger'), createMemoryLogger()) }
    const trail = {
      replayCount: 0,
      get original() {
        return made.push('trail'), { topic: 't', partition: 0, offset: 0n }
      },
    }
    const record = fetched(textRecord('orders'))
    const context = contextOf(
      record,
      { logger },
      {
        get trail() {
          return trail
        },
      },
    )
    expect([context.record, context.attempt, made]).toEqual([record, 1, []])
    expect([context.headers, context.logger, context.original]).toBeDefined()
    expect([context.headers, context.logger]).toEqual([context.headers, context.logger])
    expect(made).toEqual(['logger', 'trail'])
  })

  test('has a logger that says where the record lies', () => {
    const logger = createMemoryLogger()
    const record = fetched(textRecord('orders'), { partition: 3, offset: 2n ** 60n })
    contextOf(record, { logger }, { tier: 2 }).logger.info({ orderId: 'o-1' }, 'shipped')
    expect(logger.lines).toMatchObject([
      {
        level: 'INFO',
        text: 'shipped',
        fields: {
          orderId: 'o-1',
          bindingName: 'shipping',
          topic: 'orders',
          partition: 3,
          offset: String(2n ** 60n),
          consumerGroup: 'shipping-group',
          consumerInstance: 'host-0',
          retryTier: 2,
        },
      },
    ])
  })

  test('within a transaction is the same call with the transaction', () => {
    const record = fetched(textRecord('orders'))
    const outside = contextOf(record, {}, { tier: 1 }, 3)
    const inside = outside.within('a transaction')
    expect([outside.tx, inside.tx]).toEqual([undefined, 'a transaction'])
    expect([inside.record, inside.attempt, inside.tier]).toEqual([record, 3, 1])
    expect(inside.signal).toBe(outside.signal)
  })
})
