import { createMemoryLogger, defineEvents, encodeEvent, runtimeWith } from '@waybill/core'
import type { KafkaRecord } from '@waybill/kafka'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineProjection } from '../../src/definition/define-projection.ts'
import { createMemoryProjectionStore } from '../../src/memory/memory-projection-store.ts'
import { createProjector } from '../../src/projector/create-projector.ts'
import { deliverAll } from '../../src/spec/deliver-all.ts'

test('the work for a batch of dead letters grows with its records, not with their square', async () => {
  let decoded = 0
  const counters = defineEvents({
    Counted: {
      topic: 'counters',
      schema: z.object({ id: z.string() }).refine(() => {
        decoded++
        return true
      }),
      key: ({ id }) => id,
    },
  })
  const counts = defineProjection({
    name: 'counts',
    events: counters,
    state: z.object({ count: z.number() }),
    columns: { count: 'integer' },
  }).on({ Counted: (state) => ({ count: (state?.count ?? 0) + 1 }) })
  // Version 1 of every odd key is missing.
  const records: KafkaRecord[] = []
  for (let offset = 0; offset < 500; offset++) {
    const version = offset % 2 === 0 ? 1 : 2
    const event = await encodeEvent(counters, 'Counted', { id: `k${offset}` }, { aggregateVersion: version })
    const { key, value, headers } = counters.wireFormat.encode(event)
    records.push({
      topic: 'counters',
      partition: 0,
      offset: BigInt(offset),
      timestamp: 0,
      epoch: 1,
      key,
      value,
      headers,
    })
  }
  const store = createMemoryProjectionStore()
  const projector = createProjector(counts, { store, runtime: runtimeWith({ logger: createMemoryLogger() }) })
  decoded = 0
  const dead = await deliverAll(projector, records)
  expect(dead.length).toBe(250)
  expect(store.find('counts', 'k498')).toEqual({ count: 1 })
  expect(await store.countQuarantined({ projection: 'counts', number: 1 })).toBe(250)
  expect(decoded).toBeLessThan(500 + 250 * 8)
})
