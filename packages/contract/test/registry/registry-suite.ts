import {
  RegistryUnavailableError,
  type SchemaDocument,
  SchemaNotFoundError,
  type SchemaRegistry,
} from '@waybill/contract/registry'
import { beforeAll, describe, expect, test } from 'vitest'

/** A registry under test. */
export interface RegistryHarness {
  readonly title: string
  readonly registry: () => SchemaRegistry
  /** Returns the name of a subject that only these tests use. */
  readonly subject: (name: string) => string
  /** Sets the compatibility level of a subject. */
  readonly setBackward: (subject: string) => Promise<void>
}

const avro = (...fields: readonly object[]): SchemaDocument => ({
  schemaType: 'AVRO',
  schema: JSON.stringify({ type: 'record', name: 'Order', namespace: 'shop', fields }),
  references: [],
})
const id = { name: 'id', type: 'string' }
const note = { name: 'note', type: ['null', 'string'], default: null }
const v1 = avro(id)
const v2 = avro(id, note)
/** Cannot read what v1 wrote. */
const breaking = avro(id, { name: 'total', type: 'long' })

/** The behavior of every implementation of {@link SchemaRegistry}. */
export function schemaRegistrySuite({ title, registry, subject, setBackward }: RegistryHarness): void {
  describe(`a schema registry: ${title}`, () => {
    test('returns a registered schema by its id', async () => {
      const schemaId = await registry().register(subject('by-id'), v1)
      expect(await registry().schemaById(schemaId)).toMatchObject(v1)
    })

    test('registers a schema once, however often it is asked to', async () => {
      const first = await registry().register(subject('once'), v1)
      expect(await registry().register(subject('once'), v1)).toBe(first)
      expect((await registry().version(subject('once'), 'latest')).version).toBe(1)
    })

    test('gives equal schemas of two subjects one id', async () => {
      const first = await registry().register(subject('left'), v1)
      expect(await registry().register(subject('right'), v1)).toBe(first)
    })

    test('finds the id of a registered schema under its subject only', async () => {
      const schemaId = await registry().register(subject('lookup'), v1)
      expect(await registry().lookUp(subject('lookup'), v1)).toBe(schemaId)
      await expect(registry().lookUp(subject('lookup'), v2)).rejects.toThrow(SchemaNotFoundError)
      await expect(registry().lookUp(subject('nowhere'), v1)).rejects.toThrow(SchemaNotFoundError)
    })

    test('numbers the versions of a subject', async () => {
      const first = await registry().register(subject('versions'), v1)
      const second = await registry().register(subject('versions'), v2)
      expect(await registry().version(subject('versions'), 1)).toMatchObject({ ...v1, version: 1, id: first })
      expect(await registry().version(subject('versions'), 'latest')).toMatchObject({
        ...v2,
        subject: subject('versions'),
        version: 2,
        id: second,
      })
      await expect(registry().version(subject('versions'), 3)).rejects.toThrow(SchemaNotFoundError)
      await expect(registry().version(subject('nowhere'), 'latest')).rejects.toThrow(SchemaNotFoundError)
    })

    test.each([0, 2_147_483_647])('has no schema with id %i', async (missing) => {
      const found = registry().schemaById(missing)
      await expect(found).rejects.toThrow(SchemaNotFoundError)
      await expect(found).rejects.not.toThrow(RegistryUnavailableError)
    })

    test('keeps the references of a schema, and its type', async () => {
      const money: SchemaDocument = {
        schemaType: 'PROTOBUF',
        schema: 'syntax = "proto3"; package shop; message Money { int64 cents = 1; }',
        references: [],
      }
      await registry().register(subject('money'), money)
      const order: SchemaDocument = {
        schemaType: 'PROTOBUF',
        schema: 'syntax = "proto3"; package shop; import "money.proto"; message Order { Money total = 1; }',
        references: [{ name: 'money.proto', subject: subject('money'), version: 1 }],
      }
      const schemaId = await registry().register(subject('order'), order)
      expect(await registry().schemaById(schemaId)).toMatchObject(order)
    })

    describe('with backward compatibility', () => {
      beforeAll(async () => {
        await registry().register(subject('backward'), v1)
        await setBackward(subject('backward'))
      })

      test('says whether a schema can follow', async () => {
        expect(await registry().checkCompatibility(subject('backward'), v2)).toMatchObject({ isCompatible: true })
        expect(await registry().checkCompatibility(subject('backward'), breaking)).toMatchObject({
          isCompatible: false,
        })
        expect(await registry().checkCompatibility(subject('backward'), breaking, 1)).toMatchObject({
          isCompatible: false,
        })
      })

      test('refuses to register a schema that cannot follow', async () => {
        await expect(registry().register(subject('backward'), breaking)).rejects.toMatchObject({
          code: 'WAYBILL_SCHEMA_REFUSED',
        })
        expect((await registry().version(subject('backward'), 'latest')).schema).toBe(v1.schema)
      })
    })

    test('lets every schema be the first of its subject', async () => {
      expect(await registry().checkCompatibility(subject('nowhere'), v1)).toEqual({ isCompatible: true, messages: [] })
    })
  })
}
