import {
  decodeEvent,
  defineEvents,
  type EventCatalog,
  encodeEvent,
  fromJsonSchema,
  type InputOf,
  type PayloadOf,
  type Upcaster,
  upcast,
  type WireRecord,
} from '@waybill/core'
import { Ajv } from 'ajv'
import { describe, expectTypeOf, test } from 'vitest'
import { z } from 'zod'

const events = defineEvents({
  'order.placed': {
    topic: 'orders.events',
    schema: z.object({ orderId: z.string(), placedAt: z.string().transform((text) => new Date(text)) }),
    key: (order) => order.orderId,
  },
  'order.cancelled': {
    topic: 'orders.events',
    schema: fromJsonSchema<{ orderId: string }>({ type: 'object' }, new Ajv()),
    key: (order) => order.orderId,
  },
})

const v1 = z.object({ id: z.string(), text: z.string() })
const v2 = z.object({ id: z.string(), body: z.string(), priority: z.enum(['normal', 'high']).default('normal') })
export const step: Upcaster<typeof v1, typeof v2> = upcast(v1, v2, ({ id, text }) => ({ id, body: text }))

const versioned = defineEvents({
  MessagePersisted: { topic: 'm', version: 2, schema: v2, key: (message) => message.id, upcasters: { 1: step } },
})

export async function receivedNewest(record: WireRecord): Promise<void> {
  const { payload } = await decodeEvent(versioned, record)
  expectTypeOf(payload).toEqualTypeOf<{ id: string; body: string; priority: 'normal' | 'high' }>()
}

type S = typeof events extends EventCatalog<infer T> ? T : never

// Compiled, never called: errors are marked, and tsc fails when a marked line compiles.
export const mistakes = {
  misspeltName: () =>
    // @ts-expect-error the catalog has no such event
    encodeEvent(events, 'order.plcaed', { orderId: 'o-1', placedAt: '' }),
  wrongPayload: () =>
    // @ts-expect-error orderId is text
    encodeEvent(events, 'order.placed', { orderId: 1, placedAt: '' }),
  missingField: () =>
    // @ts-expect-error orderId is required
    encodeEvent(events, 'order.cancelled', {}),
  outputInsteadOfInput: () =>
    // @ts-expect-error a writer passes the schema's input, which is text
    encodeEvent(events, 'order.placed', { orderId: 'o-1', placedAt: new Date(0) }),
  payloadOfAnotherEvent: () =>
    // @ts-expect-error order.placed has more fields
    encodeEvent(events, 'order.placed', { orderId: 'o-1' }),
  keyOfAMissingField: () =>
    defineEvents({
      a: {
        topic: 't',
        schema: z.object({ a: z.string() }),
        // @ts-expect-error the payload has no such field
        key: (payload) => payload.b,
      },
    }),
  keyThatIsANumber: () =>
    defineEvents({
      a: {
        topic: 't',
        schema: z.object({ a: z.number() }),
        // @ts-expect-error a key is text or null
        key: (payload) => payload.a,
      },
    }),
  unknownWireFormat: () =>
    // @ts-expect-error there is no such format
    defineEvents({}, { wireFormat: 'AVRO' }),
  noSchema: () =>
    // @ts-expect-error a plain object is no schema
    defineEvents({ a: { topic: 't', schema: { type: 'object' }, key: () => null } }),
  stepWithoutARequiredField: () =>
    // @ts-expect-error a step that forgets a required field does not compile
    upcast(v1, v2, ({ id }) => ({ id })),
  stepWithAWrongField: () =>
    // @ts-expect-error body is text
    upcast(v1, v2, ({ id, text }) => ({ id, body: text.length })),
  stepFromAMissingField: () =>
    // @ts-expect-error version 1 has no body
    upcast(v1, v2, ({ id, body }) => ({ id, body })),
  stepThatIsAsynchronous: () =>
    // @ts-expect-error a step is pure, so it waits for nothing
    upcast(v1, v2, async ({ id, text }) => ({ id, body: text })),
  stepIsNoFunction: () =>
    defineEvents({
      a: {
        topic: 't',
        version: 2,
        schema: v2,
        key: () => null,
        // @ts-expect-error a function does not tell its schemas
        upcasters: { 1: ({ id }: { id: string }) => ({ id, body: '' }) },
      },
    }),
  changedDefinition: () => {
    // @ts-expect-error a catalog never changes
    events.definitions['order.placed'].topic = 'other'
  },
}

export async function received(record: WireRecord): Promise<void> {
  const event = await decodeEvent(events, record)
  if (event.name === 'order.placed') expectTypeOf(event.payload).toEqualTypeOf<{ orderId: string; placedAt: Date }>()
  else expectTypeOf(event.payload).toEqualTypeOf<{ orderId: string }>()
}

describe('the types of a catalog', () => {
  test('are the input of the schema for writers and its output for handlers', () => {
    expectTypeOf<InputOf<S, 'order.placed'>>().toEqualTypeOf<{ orderId: string; placedAt: string }>()
    expectTypeOf<PayloadOf<S, 'order.placed'>>().toEqualTypeOf<{ orderId: string; placedAt: Date }>()
    expectTypeOf<PayloadOf<S, 'order.cancelled'>>().toEqualTypeOf<{ orderId: string }>()
  })
})
