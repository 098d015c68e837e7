import {
  ArgumentError,
  decodeEvent,
  defineEvents,
  encodeEvent,
  identifyEvent,
  ParseError,
  RecordHeaders,
  SchemaViolationError,
  UnknownEventTypeError,
  type WireRecord,
} from '@waybill/core'
import { type CatalogOptions, eventHeader } from '@waybill/core/internal'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

const definitions = {
  'order.placed': {
    topic: 'orders.events',
    schema: z.object({ orderId: z.string(), placedAt: z.coerce.date<string>() }),
    key: (order: { orderId: string }): string => order.orderId,
    version: 2,
    aggregateType: 'Order',
  },
}

const events = defineEvents(definitions)
const formats = ['JSON', 'ENVELOPE', 'CLOUDEVENTS'] as const
const placed = { orderId: 'o-1', placedAt: '2026-01-31T14:30:00Z' }

function jsonRecord(value: string | null, headers: Record<string, string> = {}): WireRecord {
  return {
    key: Buffer.from('o-1'),
    value: value === null ? null : Buffer.from(value),
    headers: RecordHeaders.from(Object.entries({ id: 'e-1', eventType: 'order.placed', ...headers })),
  }
}

describe.each(formats)('an event sent as %s', (wireFormat) => {
  const options: CatalogOptions = { wireFormat, producer: 'orders' }
  const catalog = defineEvents(definitions, options)

  test('reaches its handler as the output of its schema', async () => {
    const meta = { eventId: 'e-1', occurredAt: 1_000, tenantId: 'acme', aggregateVersion: 3, headers: { locale: 'de' } }
    const record = catalog.wireFormat.encode(await encodeEvent(catalog, 'order.placed', placed, meta))
    const event = await decodeEvent(catalog, record)
    expect(event).toMatchObject({
      id: 'e-1',
      name: 'order.placed',
      version: 2,
      key: 'o-1',
      payload: { orderId: 'o-1', placedAt: new Date('2026-01-31T14:30:00Z') },
      occurredAt: 1_000,
      aggregateType: 'Order',
      aggregateVersion: 3,
      tenantId: 'acme',
    })
    expect(event.headers.text('locale')).toBe('de')
  })

  test('is an UnknownEventTypeError to a service that does not know it', async () => {
    const record = catalog.wireFormat.encode(await encodeEvent(catalog, 'order.placed', placed))
    const other = defineEvents({ 'order.place': definitions['order.placed'] }, options)
    expect(() => identifyEvent(other, record)).toThrow(UnknownEventTypeError)
    await expect(decodeEvent(other, record)).rejects.toThrow(
      /no event called "order\.placed".*did you mean "order\.place"/,
    )
  })

  test('violates the schema of a service that expects another payload, with the path', async () => {
    const record = catalog.wireFormat.encode(await encodeEvent(catalog, 'order.placed', placed))
    const other = defineEvents(
      {
        'order.placed': {
          ...definitions['order.placed'],
          schema: z.object({ orderId: z.string(), total: z.number() }),
        },
      },
      options,
    )
    await expect(decodeEvent(other, record)).rejects.toThrow(SchemaViolationError)
    await expect(decodeEvent(other, record)).rejects.toThrow(
      /^order\.placed violates its schema: total: .*The record keeps its bytes/,
    )
  })

  test('keeps the version it was written with', async () => {
    const record = catalog.wireFormat.encode(await encodeEvent(catalog, 'order.placed', placed))
    const later = defineEvents({ 'order.placed': { ...definitions['order.placed'], version: 9 } }, options)
    expect((await decodeEvent(later, record)).version).toBe(2)
  })
})

describe('identifyEvent', () => {
  test('does not look at the payload', () => {
    expect(identifyEvent(events, jsonRecord('{broken')).eventType).toBe('order.placed')
  })
})

describe('decodeEvent', () => {
  test('is a ParseError for a payload that is no JSON', async () => {
    await expect(decodeEvent(events, jsonRecord('{broken'))).rejects.toThrow(ParseError)
  })

  test('is a ParseError for a payload of bytes', async () => {
    const record = jsonRecord('"/w=="', { [eventHeader.payloadEncoding]: 'base64' })
    await expect(decodeEvent(events, record)).rejects.toThrow(/"bytes", not JSON/)
  })

  test('is a ParseError for a tombstone', async () => {
    await expect(decodeEvent(events, jsonRecord(null))).rejects.toThrow(ParseError)
  })

  test('lets the schema judge numbers that are too large', async () => {
    const catalog = defineEvents({ 'order.placed': { topic: 't', schema: z.object({ n: z.int() }), key: () => null } })
    for (const n of ['1e400', '12345678901234567890', '9'.repeat(100_000)])
      await expect(decodeEvent(catalog, jsonRecord(`{"n":${n}}`))).rejects.toThrow(/: n: /)
  })

  test('takes a record under whatever key it comes where the format does not bind it', async () => {
    const record = { ...jsonRecord(JSON.stringify(placed)), key: Buffer.from('elsewhere') }
    expect((await decodeEvent(events, record)).key).toBe('elsewhere')
  })

  test('refuses a wire envelope whose key is not the one of its payload', async () => {
    const catalog = defineEvents(definitions, { wireFormat: 'ENVELOPE' })
    const envelope = await encodeEvent(catalog, 'order.placed', placed)
    const moved = catalog.wireFormat.encode({ ...envelope, payload: envelope.payload, aggregateId: 'o-2' })
    await expect(decodeEvent(catalog, moved)).rejects.toThrow(/partition_key: is not the key of the payload/)
  })
})

test.each([{ id: Buffer.from('e-1') }, new Map(), undefined, null])(
  'a record whose headers are %o as a client hands them out is refused with how to make them',
  async (headers) => {
    const record = { ...jsonRecord('{}'), headers: headers as unknown as RecordHeaders }
    await expect(decodeEvent(events, record)).rejects.toThrow(ArgumentError)
    await expect(decodeEvent(events, record)).rejects.toThrow('RecordHeaders.from(Object.entries(headers))')
  },
)
