import { defineEvents, upcast } from '@waybill/core'
import { z } from 'zod'

const v1 = z.object({ id: z.string(), note: z.string().optional() })
const v2 = z.object({ id: z.string(), priority: z.enum(['normal', 'high']) })

/** The catalog that wrote the records. */
export function released(topic: string) {
  return defineEvents({ OrderPlaced: { topic, schema: v1, key: ({ id }) => id } })
}

/** A catalog that cannot read them. */
export function careless(topic: string) {
  return defineEvents({ OrderPlaced: { topic, version: 2, schema: v2, key: ({ id }) => id } })
}

/** A catalog that reads them through a step. */
export function stepped(topic: string) {
  const upcasters = { 1: upcast(v1, v2, ({ id }) => ({ id, priority: 'normal' as const })) }
  return defineEvents({ OrderPlaced: { topic, version: 2, schema: v2, key: ({ id }) => id, upcasters } })
}
