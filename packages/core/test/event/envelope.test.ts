import { ArgumentError, createEnvelope, createUlidGenerator, ParseError, PayloadTooLargeError } from '@waybill/core'
import {
  type EnvelopeSources,
  envelopeOfJson,
  eventHeader,
  isUlid,
  maxPayloadBytes,
  restoreEnvelope,
  traceHeader,
} from '@waybill/core/internal'
import { createVirtualRuntime } from '@waybill/sim'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'

const minimal = { eventType: 'order.placed', payloadJson: '{}' } as const

function sources(seed = 1): EnvelopeSources {
  const runtime = createVirtualRuntime(seed)
  return { clock: runtime.clock, nextId: createUlidGenerator(runtime) }
}

/** Excludes the key `__proto__`, which is refused and which fast-check likes to draw. */
const jsonText = fc.json().filter((json) => !json.includes('__proto__'))

/** Returns JSON text of `bytes` bytes. */
function jsonOfSize(bytes: number): string {
  return `"${'a'.repeat(bytes - 2)}"`
}

describe('defaults', () => {
  test('an event needs nothing but its type and its payload', () => {
    const runtime = createVirtualRuntime(1)
    const envelope = createEnvelope(minimal, { clock: runtime.clock, nextId: createUlidGenerator(runtime) })

    expect(isUlid(envelope.eventId)).toBe(true)
    expect(envelope).toMatchObject({
      eventType: 'order.placed',
      occurredAt: runtime.clock.now(),
      aggregateType: '__GLOBAL__',
      aggregateId: null,
      tenantId: null,
      payloadJson: '{}',
    })
    expect(Object.keys(envelope.headers)).toEqual([])
  })

  test('ids rise with each event, also within a millisecond', () => {
    const shared = sources()
    const ids = Array.from({ length: 100 }, () => createEnvelope(minimal, shared).eventId)
    expect(ids.toSorted()).toEqual(ids)
    expect(new Set(ids).size).toBe(100)
  })

  test('without sources the ids are monotonic too', () => {
    const ids = Array.from({ length: 100 }, () => createEnvelope(minimal).eventId)
    expect(ids.toSorted()).toEqual(ids)
  })

  test('every field can be given', () => {
    const given = {
      eventId: 'evt_1',
      eventType: 'order.placed',
      occurredAt: 1_700_000_000_000,
      aggregateType: 'Order',
      aggregateId: 'o-1',
      tenantId: 'acme',
      headers: { locale: 'de' },
    }
    expect(createEnvelope({ ...given, payloadJson: '[1]' })).toMatchObject({ ...given, payloadJson: '[1]' })
  })

  test('ofJson is the shorthand for a type and its text', () => {
    const envelope = envelopeOfJson('order.placed', '{"a":1}', sources())
    expect(envelope.eventType).toBe('order.placed')
    expect(envelope.payloadJson).toBe('{"a":1}')
  })
})

describe('event types and aggregate types', () => {
  const OrderEvent = { PLACED: { name: 'order.placed' } } as const

  test('may be entries of a const object', () => {
    expect(createEnvelope({ eventType: OrderEvent.PLACED, payloadJson: '{}' }).eventType).toBe('order.placed')
    expect(envelopeOfJson(OrderEvent.PLACED, '{}').eventType).toBe('order.placed')
  })

  test('may be made on the spot', () => {
    const envelope = createEnvelope({ ...minimal, eventType: { name: 'a' }, aggregateType: { name: 'Order' } })
    expect(envelope).toMatchObject({ eventType: 'a', aggregateType: 'Order' })
  })

  test('are never the name of a class', () => {
    class OrderPlaced {
      readonly orderId = 'o-1'
    }
    expect(() => createEnvelope({ ...minimal, eventType: OrderPlaced })).toThrow(ArgumentError)
    expect(() => createEnvelope({ ...minimal, aggregateType: OrderPlaced })).toThrow(/class or function/)
  })
})

describe('createEnvelope', () => {
  test.each<[string, object]>([
    ['an empty event type', { eventType: '' }],
    ['an absent event type', { eventType: undefined }],
    ['a null event type', { eventType: null }],
    ['a type object without a name', { eventType: {} }],
    ['an empty id', { eventId: '' }],
    ['an id that is a number', { eventId: 7 }],
    ['an empty aggregate type', { aggregateType: '' }],
    ['an aggregate id that is a number', { aggregateId: 7 }],
    ['an aggregate id with half a surrogate pair', { aggregateId: 'a\uD800' }],
    ['a tenant that is an object', { tenantId: {} }],
    ['an occurredAt that is no number', { occurredAt: '2026-01-01' }],
    ['an occurredAt of NaN', { occurredAt: Number.NaN }],
    ['an occurredAt with a fraction', { occurredAt: 1.5 }],
    ['an occurredAt in the year 10000', { occurredAt: 253_402_300_800_000 }],
    ['both payloads', { payloadBytes: new Uint8Array() }],
    ['no payload', { payloadJson: undefined }],
    ['a payload that is an object', { payloadJson: {} }],
    ['bytes that are a list', { payloadJson: undefined, payloadBytes: [1] }],
    ['JSON text with half a surrogate pair', { payloadJson: '"\uD800"' }],
    ['headers that are text', { headers: 'a=b' }],
    ['headers that are null', { headers: null }],
    ['a null header name', { headers: new Map([[null, 'a']]) }],
    ['a null header value', { headers: { a: null } }],
    ['a header value that is a number', { headers: { a: 1 } }],
    ['a header with half a surrogate pair', { headers: { a: '\uDC00' } }],
    ['a header that the wire formats write', { headers: { [eventHeader.id]: 'x' } }],
    ['a header of the engine', { headers: { 'x-eventbus-replay-count': '1' } }],
    ['a CloudEvents attribute as a header', { headers: { ce_id: 'x' } }],
    ['an event version that no consumer reads', { headers: { [eventHeader.eventVersion]: '0' } }],
    ['an aggregate version that no consumer reads', { headers: { [eventHeader.aggregateVersion]: '-1' } }],
    ['a payload encoding that does not exist', { headers: { [eventHeader.payloadEncoding]: 'gzip' } }],
    ['base64 that is none', { payloadJson: '"a"', headers: { [eventHeader.payloadEncoding]: 'base64' } }],
  ])('refuses %s', (_, wrong) => {
    expect(() => createEnvelope({ ...minimal, ...wrong })).toThrow(ArgumentError)
  })

  test.each(['', '{', 'undefined', "{'a':1}", '\uFEFF{}', '{"__proto__":{}}', '{"\\u005f_proto__":1}'])(
    'refuses the text %j as payloadJson',
    (payloadJson) => {
      expect(() => createEnvelope({ ...minimal, payloadJson })).toThrow(ParseError)
    },
  )

  test('refuses bytes of JSON with a key __proto__', () => {
    const payloadBytes = Buffer.from('{"__proto__":{"admin":true}}')
    expect(() => createEnvelope({ eventType: 'a', payloadBytes })).toThrow(ParseError)
    expect(({} as Record<string, unknown>)['admin']).toBeUndefined()
  })
})

describe('the largest payload', () => {
  test('has 1,048,576 bytes', () => {
    expect(maxPayloadBytes).toBe(1_048_576)
    expect(createEnvelope({ ...minimal, payloadJson: jsonOfSize(maxPayloadBytes) }).payload.length).toBe(1_048_576)
  })

  test('is refused with one byte more', () => {
    expect(() => createEnvelope({ ...minimal, payloadJson: jsonOfSize(maxPayloadBytes + 1) })).toThrow(
      PayloadTooLargeError,
    )
  })

  test('is counted in bytes, not in letters', () => {
    const letters = 'é'.repeat(maxPayloadBytes / 2)
    expect(() => createEnvelope({ ...minimal, payloadJson: `"${letters}"` })).toThrow(/1048578 bytes/)
  })

  test.each([
    ['JSON', Buffer.from(jsonOfSize(maxPayloadBytes))],
    ['no JSON', Buffer.alloc(maxPayloadBytes, 0xff)],
  ])('is the same for bytes that are %s', (_, payloadBytes) => {
    expect(createEnvelope({ eventType: 'a', payloadBytes }).payload.length).toBe(maxPayloadBytes)
    const oneMore = Buffer.concat([payloadBytes, Buffer.from(' ')])
    expect(() => createEnvelope({ eventType: 'a', payloadBytes: oneMore })).toThrow(PayloadTooLargeError)
  })
})

describe('an envelope never changes', () => {
  test('when the bytes it was made of change', () => {
    const payloadBytes = Buffer.from('{"a":1}')
    const envelope = createEnvelope({ eventType: 'a', payloadBytes })
    payloadBytes.fill(0)
    expect(Buffer.from(envelope.payload).toString()).toBe('{"a":1}')
  })

  test('when the bytes it gave out change', () => {
    for (const payloadBytes of [Buffer.from('{"a":1}'), Buffer.from([0xff, 0xfe])]) {
      const envelope = createEnvelope({ eventType: 'a', payloadBytes })
      envelope.payload.fill(0)
      expect(envelope.payload).toEqual(payloadBytes)
    }
  })

  test('when the headers it was made of change', () => {
    const headers = { a: '1' }
    const envelope = createEnvelope({ ...minimal, headers })
    headers.a = '2'
    expect(envelope.headers['a']).toBe('1')
  })

  test('when a caller assigns to it', () => {
    const envelope = createEnvelope({ ...minimal, headers: { a: '1' } }) as { tenantId: string } & {
      headers: Record<string, string>
    }
    expect(() => {
      envelope.tenantId = 'x'
    }).toThrow(TypeError)
    expect(() => {
      envelope.headers['a'] = '2'
    }).toThrow(TypeError)
  })

  test('and its text is always the same one, so nothing is serialised twice', () => {
    const payloadJson = '{"a": 1}'
    const envelope = createEnvelope({ ...minimal, payloadJson })
    expect(envelope.payloadJson).toBe(payloadJson)
    expect(Buffer.from(envelope.payload).toString()).toBe(payloadJson)
  })
})

describe('headers', () => {
  test('can be an object, a Map or a list of pairs', () => {
    const expected = { b: '1', a: '' }
    for (const headers of [expected, new Map(Object.entries(expected)), Object.entries(expected)]) {
      const envelope = createEnvelope({ ...minimal, headers: headers as Record<string, string> })
      expect(Object.entries(envelope.headers)).toEqual(Object.entries(expected))
    }
  })

  test('called __proto__ or constructor are headers like any other', () => {
    const { headers } = createEnvelope({
      ...minimal,
      headers: [
        ['__proto__', 'a'],
        ['constructor', 'b'],
      ],
    })
    expect(Object.entries(headers)).toEqual([
      ['__proto__', 'a'],
      ['constructor', 'b'],
    ])
    expect(headers['toString']).toBeUndefined()
  })

  test('may carry versions and trace', () => {
    const headers = {
      [eventHeader.eventVersion]: '2',
      [eventHeader.aggregateVersion]: '0',
      [traceHeader.traceparent]: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    }
    expect({ ...createEnvelope({ ...minimal, headers }).headers }).toEqual(headers)
  })
})

describe('bytes', () => {
  test('that are UTF-8 JSON text are stored as that text', () => {
    const envelope = createEnvelope({ eventType: 'a', payloadBytes: Buffer.from('{"ü": 1e2}') })
    expect(envelope.payloadJson).toBe('{"ü": 1e2}')
    expect(Object.keys(envelope.headers)).toEqual([])
  })

  test.each([
    ['that are not UTF-8', Buffer.from([0xff, 0x00])],
    ['that are no JSON', Buffer.from('hello')],
    ['that begin with a byte order mark', Buffer.from('\uFEFF{}')],
    ['that are none', Buffer.alloc(0)],
  ])('%s are stored as base64 in a JSON string, and a header says so', (_, payloadBytes) => {
    const envelope = createEnvelope({ eventType: 'a', payloadBytes })
    expect(envelope.headers[eventHeader.payloadEncoding]).toBe('base64')
    expect(JSON.parse(envelope.payloadJson)).toBe(payloadBytes.toString('base64'))
    expect(envelope.payload).toEqual(payloadBytes)
  })

  test('come out as they went in, whatever they are', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.uint8Array(),
          jsonText.map((json) => Buffer.from(json)),
        ),
        (payloadBytes) => {
          const envelope = createEnvelope({ eventType: 'a', payloadBytes })
          expect(Buffer.from(envelope.payload)).toEqual(Buffer.from(payloadBytes))
          JSON.parse(envelope.payloadJson)
        },
      ),
    )
  })
})

describe('an envelope made from another', () => {
  test.each([
    ['JSON', Buffer.from('{"a":1}')],
    ['bytes', Buffer.from([0xff])],
  ])('keeps everything but what is changed, also with a payload of %s', (_, payloadBytes) => {
    const first = createEnvelope({ eventType: 'a', payloadBytes, aggregateId: 'k', headers: { a: '1' } })
    const second = createEnvelope({ ...first, tenantId: 'acme', headers: { ...first.headers, b: '2' } })
    expect(second).toMatchObject({ eventId: first.eventId, aggregateId: 'k', tenantId: 'acme' })
    expect(second.headers).toMatchObject({ a: '1', b: '2' })
    expect(second.payload).toEqual(payloadBytes)
  })

  test('loses the mark of base64 together with the bytes', () => {
    const first = createEnvelope({ eventType: 'a', payloadBytes: Buffer.from([0xff]) })
    const second = createEnvelope({ ...first, payloadJson: undefined, payloadBytes: Buffer.from('{}') })
    expect(second.headers[eventHeader.payloadEncoding]).toBeUndefined()
    expect(second.payloadJson).toBe('{}')
  })
})

describe('an envelope read back from a store', () => {
  test('equals the one that was written', () => {
    for (const payloadBytes of [Buffer.from('{"n":12345678901234567890}'), Buffer.from([0xff])]) {
      const written = createEnvelope({ eventType: 'a', payloadBytes, headers: { a: '1' } })
      const read = restoreEnvelope({ ...written, headers: new Map(Object.entries(written.headers)) })
      expect({ ...read, headers: { ...read.headers } }).toEqual({ ...written, headers: { ...written.headers } })
      expect(read.payload).toEqual(payloadBytes)
      expect(Object.isFrozen(read) && Object.isFrozen(read.headers)).toBe(true)
    }
  })
})
