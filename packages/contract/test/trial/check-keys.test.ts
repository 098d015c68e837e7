import { contractsOf } from '@waybill/contract'
import { defineEvents, type EventCatalog, type Schemas, upcast } from '@waybill/core'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { checkKeys } from '../../src/trial/check-keys.ts'

interface Order {
  readonly id: string
  readonly customer: string
}

const schema = z.object({ id: z.string().min(1), customer: z.string().min(1) })

function catalogOf(key: (order: Order) => string | null): EventCatalog<Schemas> {
  return defineEvents({ OrderPlaced: { topic: 'orders', schema, key } })
}

const byId = catalogOf(({ id }) => id)
const released = contractsOf(byId)

async function find(
  catalog: EventCatalog<Schemas>,
  samples: Record<string, unknown[]> = {},
  existing: EventCatalog<Schemas> = byId,
): Promise<string[]> {
  const found = await checkKeys({ catalogs: [catalog], existing: [existing], released, samples })
  return found.map(({ code, severity, file, message }) => `${code} ${severity} ${file} ${message}`)
}

describe('the keys of events', () => {
  test('may be written in other words', async () => {
    expect(await find(catalogOf((order) => order['id']))).toEqual([])
  })

  test('are reported with an event for which they changed', async () => {
    const sample = { id: 'o-1', customer: 'c-1' }
    expect(
      await find(
        catalogOf(({ customer }) => customer),
        { OrderPlaced: [sample] },
      ),
    ).toEqual([
      'WB-C012 WARNING OrderPlaced/v1.json the key of OrderPlaced version 1 was "o-1" and is "c-1" for the example',
    ])
    expect(await find(catalogOf(() => null))).toHaveLength(1)
  })

  test('are compared behind upcast steps, and not where a catalog refuses the event', async () => {
    const next = z.object({ orderId: z.string(), customer: z.string() })
    const stepped = (key: (order: { orderId: string; customer: string }) => string): EventCatalog<Schemas> =>
      defineEvents({
        OrderPlaced: {
          topic: 'orders',
          version: 2,
          schema: next,
          key,
          upcasters: { 1: upcast(schema, next, ({ id, customer }) => ({ orderId: id, customer })) },
        },
      })
    expect(await find(stepped(({ orderId }) => orderId))).toEqual([])
    expect(await find(stepped(({ customer }) => customer))).toHaveLength(1)
    const refusing = defineEvents({ OrderPlaced: { topic: 'orders', schema: next, key: ({ customer }) => customer } })
    expect(await find(refusing)).toEqual([])
    expect(await find(byId, {}, refusing)).toEqual([])
    expect(await find(defineEvents({ Other: { topic: 'orders', schema, key: () => null } }))).toEqual([])
  })
})
