import { readFileSync } from 'node:fs'
import { createAvroCodec, createJsonSchemaCodec, createProtobufCodec, type SchemaCodec } from '@waybill/contract/codec'
import { createMemoryRegistry, type SchemaRegistry, type SchemaType } from '@waybill/contract/registry'
import avsc from 'avsc'
import protobuf from 'protobufjs'
import { describe, expect, test } from 'vitest'

/** Bytes that the serializers of @confluentinc/schemaregistry 1.10.1 wrote for a value. */
interface Golden {
  readonly name: string
  readonly schemaType: SchemaType
  readonly schema: string
  readonly message?: string
  readonly value: unknown
  readonly hex: string
}

const goldens = JSON.parse(readFileSync(new URL('golden/confluent.json', import.meta.url), 'utf8')) as Golden[]

/** A registry in which each schema has the id of its golden bytes. */
async function registryOf(cases: readonly Golden[]): Promise<SchemaRegistry> {
  const registry = createMemoryRegistry()
  for (const { schemaType, schema } of cases)
    await registry.register(schemaType, { schemaType, schema, references: [] })
  return registry
}

function codecOf(
  registry: SchemaRegistry,
  { schemaType: subject, schema, message = '' }: Golden,
): SchemaCodec<unknown> {
  if (subject === 'AVRO') return createAvroCodec({ registry, subject, schema, avro: avsc })
  if (subject === 'PROTOBUF') return createProtobufCodec({ registry, subject, schema, message, protobuf })
  return createJsonSchemaCodec({
    registry,
    subject,
    schema: JSON.parse(schema) as Record<string, unknown>,
    registration: 'REGISTER',
  })
}

describe.each(goldens)("bytes of Confluent's serializer: $name", (golden) => {
  test('are decoded to the value', async () => {
    const codec = codecOf(await registryOf(goldens), golden)
    expect(codec.recognizes(Buffer.from(golden.hex, 'hex'))).toBe(true)
    expect(await codec.decode(Buffer.from(golden.hex, 'hex'))).toEqual(golden.value)
    expect(await codec.decodeAsWritten(Buffer.from(golden.hex, 'hex'))).toEqual(golden.value)
  })

  test('are written byte for byte', async () => {
    const codec = codecOf(await registryOf(goldens), golden)
    const bytes = await codec.encode(golden.value)
    // The JSON codec registers the normal form of its schema, which has an id of its own.
    const from = golden.schemaType === 'JSON' ? 5 : 0
    expect(bytes.toString('hex').slice(from * 2)).toBe(golden.hex.slice(from * 2))
    expect(bytes.subarray(0, 5).toString('hex')).toBe(
      `0000000${(await codec.schemaId()).toString(16).padStart(3, '0')}`,
    )
  })
})
