import type { EventCatalog, Inbox } from '@waybill/core'
import type { Publisher } from '@waybill/kafka'
import type { EventPublisher } from '@waybill/kafka/internal'
import { orderEvents } from '@waybill/test-support/kafka'
import { describe, expectTypeOf, test } from 'vitest'
import type { EventHandler } from '../../src/api/handler-types.ts'
import { handleEvents } from '../../src/handlers/handle-events.ts'

const events = orderEvents()

type S = typeof events extends EventCatalog<infer T> ? T : never

interface PgTx {
  query(text: string): Promise<unknown>
}

const inbox: Inbox<PgTx> = { run: async () => 'DUPLICATE' }
declare const publisher: EventPublisher<S>

// Compiled, never called: what must not compile is marked, and tsc fails when it does.
export const mistakes = {
  misspeltName: () =>
    handleEvents(events, {
      // @ts-expect-error the catalog has no such event
      'order.plcaed': async () => {},
    }),
  missingField: () =>
    handleEvents(events, {
      'order.cancelled': async ({ payload }) => {
        // @ts-expect-error the payload has no such field
        expectTypeOf(payload.total).toBeNumber()
      },
    }),
  inputInsteadOfOutput: () =>
    handleEvents(events, {
      'order.placed': async ({ payload }) => {
        // @ts-expect-error a handler gets the schema's output, which is a Date
        payload.placedAt.toUpperCase()
      },
    }),
  transactionWithoutInbox: () =>
    handleEvents(events, {
      'order.placed': async (_event, { tx }) => {
        // @ts-expect-error without an inbox there is no transaction
        await tx.query('select 1')
      },
    }),
  publishMisspeltName: () =>
    // @ts-expect-error the catalog has no such event
    publisher.publish('order.plcaed', { orderId: 'o-1' }),
  publishWrongPayload: () =>
    // @ts-expect-error orderId is text
    publisher.publish('order.cancelled', { orderId: 1 }),
  publishOutput: () =>
    // @ts-expect-error a writer passes the schema's input, which is text
    publisher.publish('order.placed', { orderId: 'o-1', placedAt: new Date(0) }),
  publishMisspeltMeta: () =>
    // @ts-expect-error there is no such field
    publisher.publish('order.cancelled', { orderId: 'o-1' }, { tenant: 't' }),
  madeByHand: () => {
    // @ts-expect-error a handler of events has its handlers
    const handler: EventHandler = {}
    return handler
  },
}

export const handler = handleEvents(
  events,
  {
    'order.placed': async (event, context) => {
      expectTypeOf(event.name).toEqualTypeOf<'order.placed'>()
      expectTypeOf(event.payload).toEqualTypeOf<{ orderId: string; placedAt: Date }>()
      expectTypeOf(context.tx).toEqualTypeOf<PgTx>()
      expectTypeOf(context.publisher).toEqualTypeOf<Publisher<S>>()
      await context.publisher.publish('order.cancelled', { orderId: event.payload.orderId })
    },
    'order.cancelled': ({ payload }) => {
      expectTypeOf(payload).toEqualTypeOf<{ orderId: string }>()
    },
  },
  { inbox },
)

describe('the types of handleEvents', () => {
  test('are those of the catalog and of the inbox', () => {
    expectTypeOf(handler).toEqualTypeOf<EventHandler>()
    expectTypeOf<ReturnType<typeof publisher.publish>>().toEqualTypeOf<Promise<string>>()
  })
})
