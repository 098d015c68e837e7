import {
  decodeEvent,
  defineEvents,
  encodeEvent,
  OptionsError,
  ParseError,
  type PayloadCodec,
  SchemaViolationError,
  upcast,
} from '@waybill/core'
import { encodeRecord } from '@waybill/core/internal'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

function read(bytes: Buffer): readonly [string, unknown] {
  try {
    return JSON.parse(bytes.subarray(1).toString()) as [string, unknown]
  } catch (cause) {
    throw new ParseError('No list.', { cause })
  }
}

/** Bytes are a zero byte and the JSON of a list: the name of the writer's schema, and the payload. */
function listCodec(schema: string): PayloadCodec {
  const codec = {
    mediaType: 'application/vnd.list',
    destination: 'lists',
    recognizes: (bytes: Uint8Array) => bytes[0] === 0,
    violations: (payload: unknown) =>
      JSON.stringify(payload).includes('bad') ? [{ path: 'id', message: 'is bad' }] : [],
    encode: (payload: unknown) => {
      const bytes = Buffer.concat([Buffer.from([0]), Buffer.from(JSON.stringify([schema, payload]))])
      return bytes
    },
    decode: async (bytes: Buffer) => ({ ...(read(bytes)[1] as object), readAs: schema }),
    decodeAsWritten: (bytes: Buffer) => read(bytes)[1],
  }
  return codec
}

const codec = listCodec('v2')
const v1 = z.object({ name: z.string() })
const v2 = z.object({ id: z.string(), readAs: z.string().optional() })
const definition = { topic: 't', schema: v2, key: ({ id }: { id: string }) => id, codec }
const plain = defineEvents({ e: definition })
const stepped = defineEvents({
  e: { ...definition, version: 2, upcasters: { 1: upcast(v1, v2, ({ name }) => ({ id: name })) } },
})

describe('an event with a codec', () => {
  test('stays JSON in the outbox and has the bytes of its codec in a record', async () => {
    const envelope = await encodeEvent(plain, 'e', { id: 'a' })
    expect(envelope.payloadJson).toBe('{"id":"a"}')
    const record = await encodeRecord(plain, envelope)
    expect(record.value?.toString()).toBe('\0["v2",{"id":"a"}]')
    expect(record.key?.toString()).toBe('a')
    expect((await decodeEvent(plain, record)).payload).toEqual({ id: 'a', readAs: 'v2' })
  })

  test('is encoded at once where nothing has to be looked up, and later otherwise', async () => {
    const envelope = await encodeEvent(plain, 'e', { id: 'a' })
    expect(encodeRecord(plain, envelope)).not.toBeInstanceOf(Promise)
    const later = defineEvents({ e: { ...definition, codec: { ...codec, encode: async () => Buffer.from([0]) } } })
    expect(encodeRecord(later, envelope)).toBeInstanceOf(Promise)
  })

  test('is refused before it is written when its codec cannot encode it', async () => {
    const refused = encodeEvent(plain, 'e', { id: 'bad' })
    await expect(refused).rejects.toThrow(SchemaViolationError)
    await expect(refused).rejects.toThrow('id: is bad')
  })

  test('is read as JSON where a record was written before it had a codec', async () => {
    const before = defineEvents({ e: { ...definition, codec: undefined } })
    const record = before.wireFormat.encode(await encodeEvent(before, 'e', { id: 'a' }))
    expect((await decodeEvent(plain, record)).payload).toEqual({ id: 'a' })
  })

  test('is read as it was written where steps lead to the newest version', async () => {
    const older = defineEvents({ e: { topic: 't', schema: v1, key: () => 'k', codec: listCodec('v1') } })
    const record = await encodeRecord(older, await encodeEvent(older, 'e', { name: 'a' }))
    expect((await decodeEvent(stepped, record)).payload).toEqual({ id: 'a' })
    const newer = await encodeRecord(stepped, await encodeEvent(stepped, 'e', { id: 'b' }))
    expect((await decodeEvent(stepped, newer)).payload).toEqual({ id: 'b', readAs: 'v2' })
  })

  test('fails for good when its codec cannot read the bytes', async () => {
    const record = await encodeRecord(plain, await encodeEvent(plain, 'e', { id: 'a' }))
    await expect(decodeEvent(plain, { ...record, value: Buffer.from([0, 1]) })).rejects.toThrow(ParseError)
  })

  test('says the media type of its codec in CloudEvents', async () => {
    const cloud = defineEvents({ e: definition }, { wireFormat: 'CLOUDEVENTS' })
    const record = await encodeRecord(cloud, await encodeEvent(cloud, 'e', { id: 'a' }))
    expect(record.headers.text('content-type')).toBe('application/vnd.list')
    expect((await decodeEvent(cloud, record)).payload).toEqual({ id: 'a', readAs: 'v2' })
  })

  test('is refused in an ENVELOPE, whose payload is JSON', () => {
    expect(() => defineEvents({ e: definition }, { wireFormat: 'ENVELOPE' })).toThrow(OptionsError)
    expect(() => defineEvents({ e: definition }, { wireFormat: 'ENVELOPE' })).toThrow('needs the wire format JSON or')
  })

  test('is refused where the codec is none', () => {
    expect(() => defineEvents({ e: { ...definition, codec: {} as PayloadCodec } })).toThrow(
      'a codec, such as one of @waybill/contract/codec',
    )
  })
})
