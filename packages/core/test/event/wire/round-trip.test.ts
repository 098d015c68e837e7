import { type EventEnvelope, ParseError, RecordHeaders, SchemaViolationError } from '@waybill/core'
import { createWireFormat, eventHeader, traceHeader, type WireEvent, type WireFormatName } from '@waybill/core/internal'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { anyEnvelope, jsonText, objectText } from './event-arbitrary.ts'

const payloads = {
  JSON: fc.oneof(jsonText, fc.uint8Array()),
  ENVELOPE: objectText,
  CLOUDEVENTS: fc.oneof(jsonText, fc.uint8Array()),
} as const

const formats = Object.keys(payloads) as WireFormatName[]

/** Returns own headers and the trace: those that every format must pass on as headers. */
function ownHeaders({ headers }: EventEnvelope): [string, string][] {
  const known: string[] = [eventHeader.eventVersion, eventHeader.aggregateVersion, eventHeader.payloadEncoding]
  return Object.entries(headers).filter(([name]) => !known.includes(name))
}

function expectSame(read: WireEvent, written: EventEnvelope): void {
  const { eventId, eventType, occurredAt, aggregateType, aggregateId, tenantId, headers } = written
  const aggregateVersion = headers[eventHeader.aggregateVersion]
  expect(read).toMatchObject({
    eventId,
    eventType,
    occurredAt,
    aggregateType,
    aggregateId,
    tenantId,
    eventVersion: Number(headers[eventHeader.eventVersion] ?? 1),
    aggregateVersion: aggregateVersion === undefined ? null : Number(aggregateVersion),
  })
  for (const [name, value] of ownHeaders(written)) expect(read.headers.text(name)).toBe(value)
}

describe.each(formats)('the wire format %s', (name) => {
  const format = createWireFormat(name, 'urn:test')
  const events = anyEnvelope(payloads[name]).filter((event) => name !== 'ENVELOPE' || event.aggregateId !== null)

  test('round-trips every event unchanged', () => {
    fc.assert(fc.property(events, (event) => expectSame(format.decode(format.encode(event)), event)))
  })

  test('round-trips every payload byte by byte', () => {
    fc.assert(
      fc.property(events, (event) => {
        const { payload } = format.decode(format.encode(event))
        const given = Buffer.from(event.payload).toString('latin1')
        // Blanks around a value are not part of it once it is inside another text.
        expect(payload.bytes().toString('latin1')).toBe(name === 'ENVELOPE' ? given.trim() : given)
      }),
    )
  })

  test('returns every JSON payload parsed', () => {
    fc.assert(
      fc.property(anyEnvelope(objectText), (event) => {
        fc.pre(event.aggregateId !== null)
        expect(format.decode(format.encode(event)).payload.json()).toEqual(JSON.parse(event.payloadJson))
      }),
    )
  })

  test('answers any record with an event, a ParseError or a SchemaViolationError', () => {
    const bytes = fc.option(
      fc.oneof(
        fc.uint8Array().map((given) => Buffer.from(given)),
        jsonText.map((json) => Buffer.from(json)),
      ),
    )
    const names = fc.constantFrom('id', 'eventType', 'eventVersion', 'occurredAt', 'payloadEncoding', 'content-type')
    const attributes = fc.constantFrom('ce_id', 'ce_type', 'ce_source', 'ce_specversion', 'ce_time', 'ce_eventversion')
    const values = fc.oneof(
      bytes,
      fc
        .constantFrom('1', '1.0', '-1', '9'.repeat(400), 'base64', 'application/cloudevents+json')
        .map((text) => Buffer.from(text)),
    )
    const headers = fc.array(fc.tuple(fc.oneof(names, attributes), values), { maxLength: 12 })
    fc.assert(
      fc.property(bytes, bytes, headers, (key, value, pairs) => {
        try {
          const event = format.decode({ key, value, headers: RecordHeaders.from(pairs) })
          expect(event.eventVersion).toBeGreaterThanOrEqual(1)
          event.payload.bytes()
          event.payload.json()
        } catch (thrown) {
          expect(thrown instanceof ParseError || thrown instanceof SchemaViolationError).toBe(true)
        }
      }),
      { numRuns: 2_000 },
    )
  })

  test('refuses a record without a value', () => {
    const record = { key: null, value: null, headers: RecordHeaders.from([[traceHeader.tracestate, 'a=b']]) }
    expect(() => format.decode(record)).toThrow(/no value/)
  })

  test('leaves prototypes alone', () => {
    const value = Buffer.from('{"__proto__":{"admin":true},"constructor":{"prototype":{"admin":true}}}')
    const headers = RecordHeaders.from([
      ['id', '1'],
      ['eventType', 'a'],
      ['__proto__', 'x'],
      ['ce_specversion', '1.0'],
      ['ce_id', '1'],
      ['ce_type', 'a'],
      ['ce_source', '/'],
    ])
    expect(() => format.decode({ key: null, value, headers }).payload.json()).toThrow(ParseError)
    expect(({} as Record<string, unknown>)['admin']).toBeUndefined()
  })
})
