import type { Buffer } from 'node:buffer'
import { type Binding, type DecodedRecord, defineBinding } from '@waybill/connector'
import type { Inbox, StandardSchema } from '@waybill/core'
import type { KafkaRecord } from '@waybill/kafka'
import { describe, expect, expectTypeOf, test } from 'vitest'

interface PgTx {
  query(text: string): Promise<void>
}

const inbox: Inbox<PgTx> = { run: async () => 'DUPLICATE' }
const handler = (_record: unknown, { tx }: { readonly tx: PgTx }): Promise<void> => tx.query('insert')
const place = { topic: 'orders', groupId: 'shipping' }

describe('the transaction of a handler', () => {
  test('has the type of the inbox', () => {
    const binding = defineBinding({
      ...place,
      deduplicate: { inbox, key: ({ naturalKey }) => naturalKey },
      handler: async (_record, { tx }) => {
        expectTypeOf(tx).toEqualTypeOf<PgTx>()
        await tx.query('insert')
      },
    })
    expectTypeOf(binding).toEqualTypeOf<Binding>()
    expect(binding.deduplicate).toMatchObject({ inbox })
  })

  test('is none without an inbox', () => {
    const binding: Binding = {
      ...place,
      handler: (_record, { tx }) => {
        expectTypeOf(tx).toEqualTypeOf<undefined>()
      },
    }
    expect(binding.deduplicate).toBeUndefined()
  })

  test('is not taken for that of another inbox', () => {
    // @ts-expect-error there is no transaction without an inbox
    const without: Binding = { ...place, handler }
    // @ts-expect-error this binding promises its handler none: defineBinding finds out which one it is
    const unnamed: Binding = { ...place, deduplicate: { inbox }, handler: () => {} }
    expect([without, unnamed]).toHaveLength(2)
  })

  test('comes from a store or from an inbox, not from both', () => {
    const store = { seen: async () => false, mark: async () => {} }
    // @ts-expect-error store and inbox exclude each other
    const both: Binding = { ...place, deduplicate: { store, inbox: { run: async () => 'DONE' } }, handler: () => {} }
    expect(both).toBeDefined()
  })
})

interface Order {
  readonly id: string
}

const order: StandardSchema<unknown, Order> = {
  '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value: value as Order }) },
}

describe('S0-054 the value of a record in its handler', () => {
  test('is the output of the schema, or null', () => {
    const binding = defineBinding({
      ...place,
      decode: order,
      handler: (record, { tx, record: raw }) => {
        expectTypeOf(record).toEqualTypeOf<DecodedRecord<Order>>()
        expectTypeOf(record.value).toEqualTypeOf<Order | null>()
        expectTypeOf(raw).toEqualTypeOf<KafkaRecord>()
        expectTypeOf(tx).toEqualTypeOf<undefined>()
      },
    })
    expectTypeOf(binding).toEqualTypeOf<Binding>()
    expect(binding.decode).toBe(order)
  })

  test('is what the function returns or resolves to', () => {
    defineBinding({
      ...place,
      decode: (bytes, { headers }) => ({ id: bytes.toString(), kind: headers.text('kind') }),
      handler: ({ value }) => {
        expectTypeOf(value).toEqualTypeOf<{ id: string; kind: string | undefined } | null>()
      },
    })
    defineBinding({
      ...place,
      decode: async (bytes) => bytes.length,
      handler: async ({ value }) => {
        expectTypeOf(value).toEqualTypeOf<number | null>()
      },
    })
  })

  test('is unknown with json and a string with text', () => {
    defineBinding({
      ...place,
      decode: 'json',
      handler: ({ value }) => {
        expectTypeOf(value).toEqualTypeOf<unknown>()
      },
    })
    defineBinding({
      ...place,
      decode: 'text',
      listenerType: 'BATCH',
      handler: {
        handleBatch: (records) => {
          expectTypeOf(records).toEqualTypeOf<readonly DecodedRecord<string>[]>()
        },
      },
    })
  })

  test('goes with the transaction of an inbox', () => {
    defineBinding({
      ...place,
      decode: order,
      deduplicate: { inbox },
      handler: async ({ value }, { tx }) => {
        expectTypeOf(value).toEqualTypeOf<Order | null>()
        expectTypeOf(tx).toEqualTypeOf<PgTx>()
      },
    })
  })

  test('is bytes without decode, and a plain object cannot claim otherwise', () => {
    const binding: Binding = {
      ...place,
      handler: ({ value }) => {
        expectTypeOf(value).toEqualTypeOf<Buffer | null>()
      },
    }
    // @ts-expect-error its handler would be promised bytes: defineBinding finds the type
    const claimed: Binding = { ...place, decode: 'json', handler: () => {} }
    // @ts-expect-error the handler expects another value than the schema returns
    defineBinding({ ...place, decode: order, handler: ({ value }: DecodedRecord<number>) => void value })
    expect([binding, claimed]).toHaveLength(2)
  })
})
