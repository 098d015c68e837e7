import { createMemoryLogger, defineEvents, encodeEvent, runtimeWith } from '@waybill/core'
import type { KafkaRecord } from '@waybill/kafka'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineProjection } from '../../src/definition/define-projection.ts'
import { VersionGapError } from '../../src/definition/projection-errors.ts'
import { createMemoryProjectionStore } from '../../src/memory/memory-projection-store.ts'
import { createProjector } from '../../src/projector/create-projector.ts'
import { deliverAll } from '../../src/spec/deliver-all.ts'

test.for([2, 3, 50])(
  'the work for dead letters grows with records, not with their square: one of %i is dead',
  async (each) => {
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
    // Version 1 of some keys is missing.
    const records: KafkaRecord[] = []
    for (let offset = 0; offset < 500; offset++) {
      const version = offset % each === 1 ? 2 : 1
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
    const gaps = records.filter((_, offset) => offset % each === 1).length
    expect(dead.length).toBe(gaps)
    expect(dead.every((error) => error instanceof VersionGapError)).toBe(true)
    expect(store.find('counts', 'k498')).toEqual({ count: 1 })
    expect(await store.countQuarantined({ projection: 'counts', number: 1 })).toBe(gaps)
    expect(decoded).toBeLessThan(4 * records.length)
  },
)
