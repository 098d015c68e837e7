import { UnknownEventTypeError } from '@waybill/core'
import { createPublisher } from '@waybill/kafka'
import { orderEvents } from '@waybill/test-support/kafka'
import { describe, expect, test } from 'vitest'
import type { RecordHandler } from '../../src/api/handler-types.ts'
import { handleEvents } from '../../src/handlers/handle-events.ts'
import { catalogOf, createInvocation } from '../../src/handlers/invocation.ts'
import { fetched, textRecord } from '../records/fetched.ts'
import { contextOf } from './order-events.ts'

describe('S0-190 a record handler', () => {
  test('gets every record as it is, with the context, whatever is in it', async () => {
    const observed: Parameters<RecordHandler>[] = []
    const prepare = createInvocation({ handler: (record, context) => void observed.push([record, context]) })
    for (const value of ['{}', 'no JSON', null]) {
      const record = fetched(textRecord('orders', [], value))
      const context = contextOf(record)
      const prepared = await prepare(record, 'SOURCE', 'g')
      expect(prepared.kind).toBe('RUN')
      if (prepared.kind === 'RUN') await prepared.run(context)
      expect(observed.pop()).toEqual([record, context])
    }
  })

  test('costs no allocation before it is called', () => {
    const prepare = createInvocation({ handler: () => {} })
    const [first, second] = ['a', 'b'].map((value) => prepare(fetched(textRecord('orders', [], value)), 'SOURCE', 'g'))
    expect(first).toBe(second)
  })

  test('fails with what it throws or rejects with', async () => {
    const record = fetched(textRecord('orders'))
    const prepared = await createInvocation({
      handler: async () => {
        throw new TypeError('no')
      },
    })(record, 'SOURCE', 'g')
    if (prepared.kind !== 'RUN') throw new Error('RUN was expected.')
    await expect(prepared.run(contextOf(record))).rejects.toThrow(TypeError)
  })
})

describe('the catalog of a handler', () => {
  test('is the one its events are of', () => {
    const events = orderEvents()
    expect(catalogOf(handleEvents(events, { 'order.placed': () => {} }))).toBe(events)
  })

  test('has no events for a record handler, so that it can publish none', async () => {
    const kafka = {
      producer: () => {
        throw new Error('No producer is needed.')
      },
    }
    const publisher = createPublisher(
      kafka,
      catalogOf(() => {}),
    )
    await expect(publisher.publish('order.placed', {})).rejects.toThrow(UnknownEventTypeError)
  })
})
