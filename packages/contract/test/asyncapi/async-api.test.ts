/** The AsyncAPI document of a catalog, judged by the JSON Schema of AsyncAPI 3.0 and by records that are written. */

import asyncApi from '@asyncapi/specs/schemas/3.0.0-without-$id.json' with { type: 'json' }
import { toStandardJsonSchema } from '@valibot/to-json-schema'
import { asyncApiOf } from '@waybill/contract'
import { createAvroCodec } from '@waybill/contract/codec'
import { createMemoryRegistry } from '@waybill/contract/registry'
import {
  ArgumentError,
  defineEvents,
  type EventCatalog,
  encodeEvent,
  fromJsonSchema,
  type Schemas,
  upcast,
} from '@waybill/core'
import { encodeRecord, type WireFormatName } from '@waybill/core/internal'
import { Ajv } from 'ajv'
import ajvFormats from 'ajv-formats'
import { type } from 'arktype'
import avsc from 'avsc'
import * as v from 'valibot'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

const ajv = new Ajv({ strict: false, logger: false })
ajvFormats.default(ajv)
const judge = ajv.compile(asyncApi)

function violationsOf(document: object): unknown {
  return judge(document) ? [] : judge.errors
}

interface Message {
  readonly headers: object
  readonly payload: { readonly schemaFormat: string; readonly schema: Readonly<Record<string, unknown>> }
  readonly [field: string]: unknown
}

interface Document {
  readonly channels: Readonly<Record<string, { readonly messages: object }>>
  readonly operations?: Readonly<Record<string, { readonly messages: readonly object[] }>>
  readonly components: { readonly messages: Readonly<Record<string, Message>> }
}

function documentOf(catalogs: Parameters<typeof asyncApiOf>[0], options: object = {}): Document {
  const document = asyncApiOf(catalogs, { title: 'Shop', ...options })
  expect(violationsOf(document)).toEqual([])
  return document as unknown as Document
}

function messageOf(document: Document, key: string): Message {
  const message = document.components.messages[key]
  if (message === undefined) throw new RangeError(`there is no message ${key}`)
  return message
}

interface Tree {
  readonly name: string
  readonly children: readonly Tree[]
}
const tree: z.ZodType<Tree> = z.lazy(() => z.object({ name: z.string(), children: z.array(tree) }))

const v1 = z.object({ id: z.string(), text: z.string() })
const v2 = z.object({ id: z.string(), body: z.string(), priority: z.enum(['normal', 'high']).default('normal') })

function shop(wireFormat: WireFormatName) {
  return defineEvents(
    {
      'order.placed': {
        topic: 'orders',
        description: 'A customer placed an order.',
        schema: z.object({ id: z.string(), at: z.iso.datetime(), note: z.string().nullable() }),
        key: ({ id }) => id,
      },
      'comment.added': { topic: 'comments', schema: z.object({ id: z.string(), tree }), key: ({ id }) => id },
      'message.sent': {
        topic: 'comments',
        version: 2,
        schema: v2,
        upcasters: { 1: upcast(v1, v2, ({ id, text }) => ({ id, body: text })) },
        key: ({ id }) => id,
      },
    },
    { wireFormat, producer: 'shop' },
  )
}

const message = (topic: string, key: string): object => ({ $ref: `#/channels/${topic}/messages/${key}` })

describe.each<WireFormatName>(['JSON', 'ENVELOPE', 'CLOUDEVENTS'])(
  'the document of a catalog in the format %s',
  (format) => {
    const events = shop(format)
    const document = documentOf(events, { sends: ['*'], receives: ['message.sent'] })

    test('has the topics as channels, and a message for each version of an event', () => {
      expect(Object.entries(document.channels).map(([topic, { messages }]) => [topic, Object.keys(messages)])).toEqual([
        ['orders', ['order.placed']],
        ['comments', ['comment.added', 'message.sent.v1', 'message.sent']],
      ])
      expect(messageOf(document, 'order.placed')).toMatchObject({
        name: 'order.placed',
        description: 'A customer placed an order.',
        contentType: 'application/json',
        'x-waybill': { event: 'order.placed', version: 1 },
      })
    })

    test('sends the newest version, and receives all of them', () => {
      const named = Object.entries(document.operations ?? {}).map(([name, { messages }]) => [name, messages])
      expect(named).toEqual([
        ['send.orders', [message('orders', 'order.placed')]],
        ['send.comments', [message('comments', 'comment.added'), message('comments', 'message.sent')]],
        ['receive.comments', [message('comments', 'message.sent.v1'), message('comments', 'message.sent')]],
      ])
    })

    test.each<[name: 'order.placed' | 'comment.added' | 'message.sent', input: object, broken: object]>([
      ['order.placed', { id: 'o-1', at: '2026-11-19T00:00:00Z', note: null }, { id: 'o-1' }],
      [
        'comment.added',
        { id: 'c-1', tree: { name: 'a', children: [{ name: 'b', children: [] }] } },
        { id: 'c-1', tree: { name: 'a', children: [{ name: 1, children: [] }] } },
      ],
      ['message.sent', { id: 'm-1', body: 'hello', priority: 'high' }, { id: 'm-1', text: 'hello' }],
    ])('describes value and headers of %s as they are written', async (name, input, broken) => {
      const envelope = await encodeEvent(events, name, input as never, {
        tenantId: 'acme',
        aggregateVersion: 7,
        headers: { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' },
      })
      const record = await encodeRecord(events, envelope)
      const { headers, payload } = messageOf(document, name)
      expect(payload.schemaFormat).toBe('application/schema+json;version=draft-07')
      // References lead into the document, so it is the schema, and its root refers to the message.
      const place = `#/components/messages/${name}/payload/schema`
      const compiler = new Ajv({ strict: false, logger: false })
      ajvFormats.default(compiler)
      const fits = compiler.compile({ ...document, $ref: place })
      const value = JSON.parse(String(record.value)) as Readonly<Record<string, unknown>>
      expect([fits(value), fits.errors]).toEqual([true, null])
      expect(fits(format === 'ENVELOPE' ? { ...value, payload: broken } : broken)).toBe(false)
      const given = Object.fromEntries([...record.headers].map(([key, bytes]) => [key, String(bytes)]))
      const fitsHeaders = compiler.compile(headers)
      expect([fitsHeaders(given), fitsHeaders.errors]).toEqual([true, null])
      const described = Object.keys((headers as { properties: object }).properties)
      expect(Object.keys(given).filter((key) => !described.includes(key))).toEqual([])
      for (const required of (headers as { required: string[] }).required) {
        const { [required]: _, ...others } = given
        expect(fitsHeaders(others)).toBe(false)
      }
    })
  },
)

test('describes the payload of a codec by its media type and the place of the schema id', () => {
  const codec = createAvroCodec({
    registry: createMemoryRegistry(),
    avro: avsc,
    subject: 'orders-value',
    schema: { type: 'record', name: 'OrderPlaced', fields: [{ name: 'id', type: 'string' }] },
  })
  const schema = z.object({ id: z.string() })
  const document = documentOf(defineEvents({ OrderPlaced: { topic: 'orders', schema, key: () => null, codec } }))
  expect(messageOf(document, 'OrderPlaced')).toMatchObject({
    contentType: 'application/vnd.apache.avro',
    bindings: { kafka: { schemaIdLocation: 'payload', schemaIdPayloadEncoding: 'confluent' } },
  })
  expect(document.operations).toBeUndefined()
})

test.each<[library: string, schema: Schemas[string]]>([
  ['valibot', toStandardJsonSchema(v.object({ id: v.string() }))],
  ['arktype', type({ id: 'string' })],
  ['a JSON Schema of 2020-12', fromJsonSchema({ type: 'object', properties: { id: { type: 'string' } } }, new Ajv())],
])('takes the schemas of %s', (_, schema) => {
  const document = documentOf(defineEvents({ E: { topic: 't', schema, key: () => null } }))
  expect(messageOf(document, 'E').payload.schema).toMatchObject({ properties: { id: { type: 'string' } } })
})

describe('several catalogs', () => {
  const schema = z.object({ id: z.string() })
  const one: EventCatalog<Schemas> = defineEvents({ E: { topic: 't', schema, key: () => null } })

  test('may share an event', () => {
    const other = defineEvents({
      E: { topic: 't', schema, key: () => null },
      'F/1': { topic: 't', schema, key: () => null },
    })
    expect(Object.keys(documentOf([one, other]).components.messages)).toEqual(['E', 'F_1'])
  })

  test('may not declare it in different ways', () => {
    const other = defineEvents({ E: { topic: 'u', schema, key: () => null } })
    expect(() => asyncApiOf([one, other], { title: 'Shop' })).toThrow(
      'Two catalogs declare E version 1 in different ways.',
    )
  })

  test('keep messages apart whose names are spelled alike', () => {
    const names = defineEvents({
      'a b': { topic: 't', schema, key: () => null },
      'a/b': { topic: 't', schema, key: () => null },
    })
    expect(Object.keys(documentOf(names).components.messages)).toEqual(['a_b', 'a_b-2'])
  })

  test('refuse an event that none of them has', () => {
    expect(() => asyncApiOf(one, { title: 'Shop', sends: ['G'] })).toThrow(ArgumentError)
  })
})

test('names clusters', () => {
  const events = defineEvents({ E: { topic: 't', schema: z.object({}), key: () => null } })
  const servers = { production: { host: 'kafka.example.com:9092', protocol: 'kafka-secure' } }
  expect(documentOf(events, { servers, version: '2.1.0', description: 'All of it' })).toMatchObject({
    info: { title: 'Shop', version: '2.1.0', description: 'All of it' },
    servers,
  })
})
