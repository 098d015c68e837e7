import { createEnvelope, type HeaderValue, ParseError, RecordHeaders, type WireRecord } from '@waybill/core'
import { createWireFormat } from '@waybill/core/internal'
import { describe, expect, test } from 'vitest'

const format = createWireFormat('CLOUDEVENTS', 'https://example.com/orders')

const attributes = { specversion: '1.0', id: 'A234-1234-1234', source: '/mycontext', type: 'com.example.someevent' }

function binary(headers: Record<string, HeaderValue>, value: string | Buffer = '{}'): WireRecord {
  const prefixed = Object.entries(attributes).map(([name, text]) => [`ce_${name}`, text] as const)
  return {
    key: null,
    value: Buffer.from(value),
    headers: RecordHeaders.from(Object.entries({ ...Object.fromEntries(prefixed), ...headers })),
  }
}

function structured(body: unknown, contentType = 'application/cloudevents+json'): WireRecord {
  return {
    key: null,
    value: Buffer.from(JSON.stringify(body)),
    headers: RecordHeaders.from([['content-type', contentType]]),
  }
}

describe('a CloudEvent', () => {
  test('is written in binary mode, with its attributes in headers', () => {
    const record = format.encode(
      createEnvelope({
        eventId: 'e-1',
        eventType: 'order.placed',
        occurredAt: Date.UTC(2026, 0, 31),
        aggregateType: 'Order',
        aggregateId: 'o-1',
        tenantId: 'acme',
        headers: {
          eventVersion: '2',
          aggregateVersion: '3',
          traceparent: '00-ab',
          locale: 'de',
          'content-type': 'x/y',
        },
        payloadJson: '{"a": 1}',
      }),
    )
    expect(record.key?.toString()).toBe('o-1')
    expect(record.value?.toString()).toBe('{"a": 1}')
    expect([...record.headers].map(([name, value]) => [name, value?.toString()])).toEqual([
      ['ce_specversion', '1.0'],
      ['ce_id', 'e-1'],
      ['ce_source', 'https://example.com/orders'],
      ['ce_type', 'order.placed'],
      ['ce_time', '2026-01-31T00:00:00.000Z'],
      ['ce_eventversion', '2'],
      ['ce_aggregatetype', 'Order'],
      ['content-type', 'application/json'],
      ['ce_subject', 'o-1'],
      ['ce_partitionkey', 'o-1'],
      ['ce_aggregateversion', '3'],
      ['ce_tenantid', 'acme'],
      ['ce_traceparent', '00-ab'],
      ['traceparent', '00-ab'],
      ['locale', 'de'],
    ])
  })

  test('has neither subject nor partition key where they would be empty', () => {
    const { headers } = format.encode(createEnvelope({ eventType: 'a', aggregateId: '', payloadJson: '{}' }))
    expect(headers.has('ce_subject') || headers.has('ce_partitionkey')).toBe(false)
  })

  test('carries bytes as they are, with a content type that says so', () => {
    const record = format.encode(createEnvelope({ eventType: 'a', payloadBytes: Buffer.from([0xff, 0x00]) }))
    expect(record.value).toEqual(Buffer.from([0xff, 0x00]))
    expect(record.headers.text('content-type')).toBe('application/octet-stream')
    expect(record.headers.has('payloadEncoding')).toBe(false)
  })
})

describe('a CloudEvent in binary mode', () => {
  test('needs only what the specification requires', () => {
    const event = format.decode(binary({}, '{"a":1}'))
    expect(event).toMatchObject({
      eventId: 'A234-1234-1234',
      eventType: 'com.example.someevent',
      eventVersion: 1,
      occurredAt: null,
      aggregateType: '__GLOBAL__',
      tenantId: null,
    })
    expect(event.payload.json()).toEqual({ a: 1 })
  })

  test.each(['application/json', 'Application/JSON; charset=utf-8', 'application/vnd.acme+json'])(
    'holds JSON when its content type is %s',
    (contentType) => {
      expect(format.decode(binary({ 'content-type': contentType }, '[1]')).payload.json()).toEqual([1])
    },
  )

  test.each(['application/avro', 'text/plain', 'application/jsonp', 'json'])(
    'holds bytes when its content type is %s',
    (contentType) => {
      const { payload } = format.decode(binary({ 'content-type': contentType }, '[1]'))
      expect(payload.bytes().toString()).toBe('[1]')
      expect(() => payload.json()).toThrow(ParseError)
    },
  )

  test('without its attributes learns of all that are missing', () => {
    const record = { key: null, value: Buffer.from('{}'), headers: RecordHeaders.empty }
    expect(() => format.decode(record)).toThrow(
      /ce_specversion: is missing.*ce_source: is missing.*ce_id: is missing.*ce_type: is missing/,
    )
  })

  test.each<[string, HeaderValue]>([
    ['ce_specversion', '0.3'],
    ['ce_id', ''],
    ['ce_source', ''],
    ['ce_type', null],
    ['ce_time', 'yesterday'],
    ['ce_eventversion', '1e3'],
    ['ce_aggregateversion', '99999999999999999999'],
    ['ce_id', Buffer.from([0xff])],
    ['content-type', Buffer.from([0xff])],
  ])('cannot have the header %s as %j', (name, value) => {
    expect(() => format.decode(binary({ [name]: value }))).toThrow(`headers.${name}: is`)
  })
})

describe('a CloudEvent in structured mode', () => {
  test('is read from one JSON object', () => {
    const event = format.decode({
      ...structured(
        {
          ...attributes,
          time: '2018-04-05T17:31:00Z',
          subject: null,
          eventversion: 2,
          aggregatetype: 'Order',
          aggregateversion: 3,
          tenantid: 'acme',
          comexampleextension1: 'value',
          data: { appinfoA: 'abc' },
        },
        'application/cloudevents+json; charset=UTF-8',
      ),
      key: Buffer.from('o-1'),
    })
    expect(event).toMatchObject({
      eventId: 'A234-1234-1234',
      eventType: 'com.example.someevent',
      eventVersion: 2,
      occurredAt: Date.UTC(2018, 3, 5, 17, 31),
      aggregateType: 'Order',
      aggregateId: 'o-1',
      aggregateVersion: 3,
      tenantId: 'acme',
    })
    expect(event.payload.json()).toEqual({ appinfoA: 'abc' })
    expect(event.payload.bytes().toString()).toBe('{"appinfoA":"abc"}')
  })

  test('takes an attribute that is null for one that is absent', () => {
    expect(format.decode(structured({ ...attributes, time: null, data: 1 })).occurredAt).toBeNull()
    expect(() => format.decode(structured({ ...attributes, id: null, data: 1 }))).toThrow(/: id: is missing/)
  })

  test.each([null, false, 0, '', 'text', []])('may have the data %j', (data) => {
    expect(format.decode(structured({ ...attributes, data })).payload.json()).toEqual(data)
  })

  test('may have data in base64, of JSON', () => {
    const body = {
      ...attributes,
      datacontenttype: 'application/json',
      data_base64: Buffer.from('[1]').toString('base64'),
    }
    expect(format.decode(structured(body)).payload.json()).toEqual([1])
  })

  test('may have data in base64, of anything, and then makes no guess', () => {
    const { payload } = format.decode(structured({ ...attributes, data_base64: Buffer.from('[1]').toString('base64') }))
    expect(payload.bytes().toString()).toBe('[1]')
    expect(() => payload.json()).toThrow(ParseError)
  })

  test('may have text of another content type as its data', () => {
    const { payload } = format.decode(
      structured({ ...attributes, datacontenttype: 'application/xml', data: '<much/>' }),
    )
    expect(payload.bytes().toString()).toBe('<much/>')
    expect(() => payload.json()).toThrow(/"application\/xml", not JSON/)
  })

  test.each<[string, object]>([
    ['data: is missing', {}],
    ['data_base64: stands beside data', { data: 1, data_base64: '/wA=' }],
    ['data_base64: is not base64', { data_base64: '*' }],
    ['data: is not a text', { datacontenttype: 'text/plain', data: {} }],
    ['datacontenttype: is not', { datacontenttype: 7, data: 1 }],
    ['specversion: is not 1.0', { specversion: '2.0', data: 1 }],
    ['type: is not', { type: 7, data: 1 }],
    ['eventversion: is not', { eventversion: 1.5, data: 1 }],
  ])('gets the error %s', (message, parts) => {
    expect(() => format.decode(structured({ ...attributes, ...parts }))).toThrow(message)
  })

  test.each([[[]], ['text'], [null]])('cannot be %j', (body) => {
    expect(() => format.decode(structured(body))).toThrow(/is not a JSON object/)
  })

  test.each(['application/cloudevents+avro', 'application/cloudevents-batch+json', 'APPLICATION/CLOUDEVENTS'])(
    'cannot be %s',
    (contentType) => {
      expect(() => format.decode(structured([], contentType))).toThrow(ParseError)
      expect(() => format.decode(structured([], contentType))).toThrow(/only JSON is read/)
    },
  )
})
