import { setImmediate as nextTurn } from 'node:timers/promises'
import { applicationOperator, defineEvents, encodeEvent } from '@waybill/core'
import type { KafkaRecord } from '@waybill/kafka'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineProjection } from '../../src/definition/define-projection.ts'
import { createMemoryProjectionStore } from '../../src/memory/memory-projection-store.ts'
import { createProjector } from '../../src/projector/create-projector.ts'
import { auditedRebuild } from '../../src/rebuild/create-rebuild.ts'
import { resolveRebuildOptions } from '../../src/rebuild/rebuild-options.ts'
import { TableRebuild } from '../../src/rebuild/table-rebuild.ts'
import { hastyRuntime, TestLog } from '../rebuild/test-log.ts'

const counters = defineEvents({
  Counted: { topic: 'accounts', schema: z.object({ id: z.string() }), key: ({ id }) => id },
})
const counts = defineProjection({
  name: 'counts',
  events: counters,
  state: z.object({ count: z.number() }),
  columns: { count: 'integer' },
  versions: 'POSITION',
}).on({ Counted: (state) => ({ count: (state?.count ?? 0) + 1 }) })
const keys = ['a', 'b', 'c']

async function counted(id: string, partition: number, offset: number): Promise<KafkaRecord> {
  const { key, value, headers } = counters.wireFormat.encode(await encodeEvent(counters, 'Counted', { id }))
  return { topic: 'accounts', partition, offset: BigInt(offset), timestamp: 0, epoch: 1, key, value, headers }
}

test('by position, events of a key in several partitions are all applied, although their first ones come at once', async () => {
  const store = createMemoryProjectionStore({ pause: () => nextTurn() })
  const projector = createProjector(counts, { store })
  await projector.prepare()
  for (const key of keys)
    await Promise.all(
      [0, 1, 2].map(async (partition) => {
        const offset = keys.indexOf(key)
        await projector.handleBatch([await counted(key, partition, offset)], undefined as never)
      }),
    )
  expect(keys.map((key) => store.find('counts', key))).toEqual(keys.map(() => ({ count: 3 })))
})

test('by position, a rebuild applies the events of a key in several partitions, whichever workers read them', async () => {
  const store = createMemoryProjectionStore({ pause: () => nextTurn() })
  const log = new TestLog(3)
  for (let round = 0; round < 6; round++)
    for (const partition of [0, 1, 2]) for (const key of keys) log.append(partition, await counted(key, partition, 0))
  const options = resolveRebuildOptions({
    store,
    kafka: { reader: () => {} } as never,
    runtime: hastyRuntime(),
    workers: 3,
    eventsPerSecond: 2,
    switch: 'WHEN_READY',
  })
  const rebuild = auditedRebuild(new TableRebuild(counts as never, options, log), 'counts', options)
  for await (const status of rebuild.run(applicationOperator())) expect(status.reason).toBeNull()
  expect(keys.map((key) => store.find('counts', key))).toEqual(keys.map(() => ({ count: 18 })))
})
