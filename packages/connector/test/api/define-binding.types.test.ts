import { type Binding, defineBinding } from '@waybill/connector'
import type { Inbox } from '@waybill/core'
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
