import { createEnvelope, ParseError, RecordHeaders, SchemaViolationError, type WireRecord } from '@waybill/core'
import { createWireFormat } from '@waybill/core/internal'
import { describe, expect, test } from 'vitest'

const format = createWireFormat('JSON', 'test')

function textsOf(record: WireRecord): [string, string | undefined][] {
  return [...record.headers].map(([name, value]) => [name, value?.toString()])
}

function decoding(headers: Record<string, string | Buffer | null>, parts: Partial<WireRecord> = {}): () => unknown {
  const pairs = Object.entries({ id: 'e-1', eventType: 'a', ...headers })
  return () => format.decode({ key: null, value: Buffer.from('{}'), headers: RecordHeaders.from(pairs), ...parts })
}

describe('a record in the format JSON', () => {
  test('has the payload as its value, the key of the event, and headers in a fixed order', () => {
    const record = format.encode(
      createEnvelope({
        eventId: 'e-1',
        eventType: 'order.placed',
        occurredAt: Date.UTC(2026, 0, 31),
        aggregateType: 'Order',
        aggregateId: 'o-1',
        tenantId: 'acme',
        headers: { locale: 'de', aggregateVersion: '3', traceparent: '00-ab', eventVersion: '2', tracestate: 'a=b' },
        payloadJson: '{"n": 12345678901234567890}',
      }),
    )
    expect(record.key?.toString()).toBe('o-1')
    expect(record.value?.toString()).toBe('{"n": 12345678901234567890}')
    expect(textsOf(record)).toEqual([
      ['id', 'e-1'],
      ['eventType', 'order.placed'],
      ['eventVersion', '2'],
      ['occurredAt', '2026-01-31T00:00:00.000Z'],
      ['aggregateType', 'Order'],
      ['aggregateVersion', '3'],
      ['tenantId', 'acme'],
      ['traceparent', '00-ab'],
      ['locale', 'de'],
      ['tracestate', 'a=b'],
    ])
  })

  test('has no key and only the headers that say something when the event is minimal', () => {
    const record = format.encode(createEnvelope({ eventId: 'e-1', eventType: 'a', occurredAt: 0, payloadJson: 'null' }))
    expect(record.key).toBeNull()
    expect(textsOf(record)).toEqual([
      ['id', 'e-1'],
      ['eventType', 'a'],
      ['eventVersion', '1'],
      ['occurredAt', '1970-01-01T00:00:00.000Z'],
      ['aggregateType', '__GLOBAL__'],
    ])
  })

  test('carries bytes that are no JSON as base64, and says so', () => {
    const record = format.encode(createEnvelope({ eventType: 'a', payloadBytes: Buffer.from([0xff, 0xfe]) }))
    expect(record.value?.toString()).toBe('"//4="')
    expect(record.headers.text('payloadEncoding')).toBe('base64')
    expect(format.decode(record).payload.bytes()).toEqual(Buffer.from([0xff, 0xfe]))
  })
})

describe('a foreign record', () => {
  test('needs only an id and an event type', () => {
    expect(decoding({})()).toMatchObject({
      eventId: 'e-1',
      eventType: 'a',
      eventVersion: 1,
      occurredAt: null,
      aggregateType: '__GLOBAL__',
      aggregateId: null,
      aggregateVersion: null,
      tenantId: null,
    })
  })

  test('may have null headers, as a router writes them for null columns', () => {
    expect(decoding({ tenantId: null, occurredAt: null })()).toMatchObject({ tenantId: null, occurredAt: null })
  })

  test.each([
    ['2026-01-31T14:30:00.123456Z', Date.UTC(2026, 0, 31, 14, 30, 0, 123)],
    ['1769869800123', 1_769_869_800_123],
    ['1769869800123456', 1_769_869_800_123],
  ])('may tell its time as %s', (occurredAt, ms) => {
    expect(decoding({ occurredAt })()).toMatchObject({ occurredAt: ms })
  })

  test('learns of all its mistakes at once', () => {
    const wrong = decoding({
      id: '',
      eventType: null,
      eventVersion: 'one',
      occurredAt: 'today',
      aggregateVersion: '-1',
    })
    expect(wrong).toThrow(SchemaViolationError)
    expect(wrong).toThrow(
      'The record violates its schema: headers.id: is not a text that is not empty; headers.eventType: is missing; ' +
        'headers.eventVersion: is not a whole number from 1; ' +
        'headers.occurredAt: is not a time with its offset, as in RFC 3339; ' +
        'headers.aggregateVersion: is not a whole number from 0. The record keeps its bytes.',
    )
  })

  test.each(['0', '-1', '1.0', '2147483648', '9'.repeat(400), 'NaN', ''])(
    'cannot have the version %j',
    (eventVersion) => {
      expect(decoding({ eventVersion })).toThrow(/headers\.eventVersion/)
    },
  )

  test.each(['9'.repeat(18), '9'.repeat(400), '-1', ''])('cannot have the time %j', (occurredAt) => {
    expect(decoding({ occurredAt })).toThrow(/headers\.occurredAt/)
  })

  test('cannot have an id that is not UTF-8, since two such ids would become one', () => {
    expect(decoding({ id: Buffer.from([0xff]) })).toThrow(/headers\.id: is not UTF-8/)
  })

  test('cannot have a key that is not UTF-8', () => {
    expect(decoding({}, { key: Buffer.from([0xff]) })).toThrow(/: key: is not UTF-8/)
  })

  test.each([
    ['an unknown encoding', 'gzip', '"/w=="'],
    ['base64 that is no JSON string', 'base64', '/w=='],
    ['base64 that is a number', 'base64', '1'],
    ['base64 with a letter too many', 'base64', '"/w==="'],
    ['base64 of another alphabet', 'base64', '"_w=="'],
  ])('cannot have %s', (_, payloadEncoding, value) => {
    expect(decoding({ payloadEncoding }, { value: Buffer.from(value) })).toThrow(ParseError)
  })
})
