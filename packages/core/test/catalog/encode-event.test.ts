import {
  ArgumentError,
  createUlidGenerator,
  defineEvents,
  encodeEvent,
  OptionsError,
  ParseError,
  PayloadTooLargeError,
  SchemaViolationError,
  UnknownEventTypeError,
} from '@waybill/core'
import { eventHeader, maxPayloadBytes } from '@waybill/core/internal'
import { createVirtualRuntime } from '@waybill/sim'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

const anything = { topic: 't', schema: z.any(), key: () => null }

const events = defineEvents({
  'order.placed': {
    topic: 'orders.events',
    schema: z.object({ orderId: z.string().transform((id) => id.toUpperCase()), total: z.number().default(0) }),
    key: (order) => order.orderId,
    version: 2,
    aggregateType: 'Order',
  },
  anything,
})

describe('encodeEvent', () => {
  test('stores the input of the schema and takes the key from its output', async () => {
    const envelope = await encodeEvent(events, 'order.placed', { orderId: 'o-1' })
    expect(envelope).toMatchObject({
      eventType: 'order.placed',
      aggregateType: 'Order',
      aggregateId: 'O-1',
      payloadJson: '{"orderId":"o-1","total":0}',
    })
  })

  test('keeps the version of the schema with the event', async () => {
    const { headers } = await encodeEvent(events, 'order.placed', { orderId: 'o-1' })
    expect({ ...headers }).toEqual({ [eventHeader.eventVersion]: '2' })
  })

  test('takes id, time, tenant, headers and aggregate version from the caller', async () => {
    const meta = { eventId: 'e-1', occurredAt: 1, tenantId: 'acme', headers: { a: '1' }, aggregateVersion: 7 }
    const envelope = await encodeEvent(events, 'order.placed', { orderId: 'o-1' }, meta)
    expect(envelope).toMatchObject({ eventId: 'e-1', occurredAt: 1, tenantId: 'acme' })
    expect(envelope.headers).toMatchObject({ a: '1', [eventHeader.aggregateVersion]: '7' })
  })

  test('takes id and time from the sources otherwise', async () => {
    const runtime = createVirtualRuntime(1)
    const sources = { clock: runtime.clock, nextId: createUlidGenerator(runtime) }
    const envelope = await encodeEvent(events, 'anything', 1, {}, sources)
    expect(envelope.occurredAt).toBe(runtime.clock.now())
    expect(envelope.eventId).toBe(createUlidGenerator(createVirtualRuntime(1))())
  })

  test('leaves the payload that was given alone', async () => {
    const input = Object.freeze({ orderId: 'o-1' })
    await encodeEvent(events, 'order.placed', input)
    expect(input).toEqual({ orderId: 'o-1' })
  })

  test('waits for an asynchronous schema', async () => {
    const slow = defineEvents({
      a: { topic: 't', schema: z.string().refine((id) => Promise.resolve(id === 'known')), key: (id) => id },
    })
    expect((await encodeEvent(slow, 'a', 'known')).aggregateId).toBe('known')
    await expect(encodeEvent(slow, 'a', 'unknown')).rejects.toThrow(SchemaViolationError)
  })

  test('does not send JSON as bytes, whatever the headers say', async () => {
    const headers = { [eventHeader.payloadEncoding]: 'base64' }
    const envelope = await encodeEvent(events, 'anything', 'text', { headers })
    expect(envelope.headers[eventHeader.payloadEncoding]).toBeUndefined()
    expect(Buffer.from(envelope.payload).toString()).toBe('"text"')
  })
})

describe('an event is refused', () => {
  test('when the catalog does not have it', async () => {
    await expect(encodeEvent(events, 'order.plcaed' as never, {} as never)).rejects.toThrow(UnknownEventTypeError)
  })

  test('when its meta has a field that does not exist, with the one that was meant', async () => {
    const meta = { tenant: 'acme', occuredAt: 1, eventId: 'e-1' }
    const refused = encodeEvent(events, 'order.placed', { orderId: 'o-1' }, meta as object)
    await expect(refused).rejects.toThrow(OptionsError)
    await expect(refused).rejects.toThrow(
      /The meta of order\.placed.*did you mean tenantId\?.*did you mean occurredAt\?/s,
    )
  })

  test('when its key function throws, with the name of the event and what was thrown', async () => {
    const broken = defineEvents({ a: { ...anything, key: (payload) => payload.order.id } })
    await expect(encodeEvent(broken, 'a', {})).rejects.toThrow(/The key function of a threw TypeError: /)
  })

  test('when its payload is wrong, with the path and the word that nothing was written', async () => {
    const wrong = { orderId: 1 } as unknown as { orderId: string }
    await expect(encodeEvent(events, 'order.placed', wrong)).rejects.toThrow(
      /^order\.placed violates its schema: orderId: .*\. Nothing was written\./,
    )
  })

  test('when its own schema could not read what JSON makes of it', async () => {
    const dated = defineEvents({ a: { topic: 't', schema: z.object({ at: z.date() }), key: () => null } })
    await expect(encodeEvent(dated, 'a', { at: new Date(0) })).rejects.toThrow(/at: .*expected date/)
    const counted = defineEvents({
      a: { topic: 't', schema: z.object({ n: z.number().or(z.nan()) }), key: () => null },
    })
    await expect(encodeEvent(counted, 'a', { n: Number.NaN })).rejects.toThrow(/ n: /)
  })

  const cyclic: Record<string, unknown> = {}
  cyclic['self'] = cyclic

  test.each<[string, unknown]>([
    ['undefined', undefined],
    ['a function', () => {}],
    ['a bigint', { n: 1n }],
    ['a cycle', cyclic],
    [
      'a toJSON that throws',
      {
        toJSON: () => {
          throw new Error('no')
        },
      },
    ],
  ])('when it is %s, which JSON does not have', async (_, payload) => {
    await expect(encodeEvent(events, 'anything', payload)).rejects.toThrow(
      /cannot be written as JSON.*Nothing was written/s,
    )
  })

  test('when it holds a key __proto__', async () => {
    const polluting: unknown = JSON.parse('{"__proto__":{"admin":true}}')
    await expect(encodeEvent(events, 'anything', polluting)).rejects.toThrow(ParseError)
  })

  test('when it is too large', async () => {
    expect((await encodeEvent(events, 'anything', 'x'.repeat(maxPayloadBytes - 2))).payloadJson).toHaveLength(
      maxPayloadBytes,
    )
    await expect(encodeEvent(events, 'anything', 'x'.repeat(maxPayloadBytes - 1))).rejects.toThrow(PayloadTooLargeError)
  })

  test.each([undefined, 7, {}])('when its key is %j, because its order would be lost in silence', async (key) => {
    const broken = defineEvents({ a: { ...anything, key: () => key as unknown as string } })
    await expect(encodeEvent(broken, 'a', {})).rejects.toThrow(ArgumentError)
  })

  test('when the wire envelope could not hold it, before the transaction commits', async () => {
    const enveloped = defineEvents({ anything }, { wireFormat: 'ENVELOPE' })
    await expect(encodeEvent(enveloped, 'anything', [])).rejects.toThrow(
      /partition_key: is required.*; payload: is not a JSON object/,
    )
  })
})
