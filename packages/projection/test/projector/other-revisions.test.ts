import { applicationOperator, defineEvents, encodeEvent } from '@waybill/core'
import type { KafkaRecord } from '@waybill/kafka'
import { beforeEach, expect, test } from 'vitest'
import { z } from 'zod'
import { defineProjection } from '../../src/definition/define-projection.ts'
import { createMemoryProjectionStore, type MemoryProjectionStore } from '../../src/memory/memory-projection-store.ts'
import { createProjector, type Projector } from '../../src/projector/create-projector.ts'
import { auditedRebuild } from '../../src/rebuild/create-rebuild.ts'
import { resolveRebuildOptions } from '../../src/rebuild/rebuild-options.ts'
import { TableRebuild } from '../../src/rebuild/table-rebuild.ts'
import { hastyClock, hastyRuntime, TestLog } from '../rebuild/test-log.ts'

const schema = z.object({ id: z.string() })
const key = ({ id }: z.infer<typeof schema>) => id
const credits = defineEvents({ Credited: { topic: 'credits', schema, key } })
const views = defineEvents({ Viewed: { topic: 'views', schema, key } })
const both = defineEvents({
  Credited: { topic: 'credits', schema, key },
  Viewed: { topic: 'views', schema, key },
})
const state = z.object({ credits: z.number(), views: z.number() })
const columns = { credits: 'integer', views: 'integer' } as const
const none = { credits: 0, views: 0 }
const head = { name: 'counts', state, columns, versions: 'POSITION' } as const
const addCredit = (row: z.infer<typeof state> = none) => ({ ...row, credits: row.credits + 1 })
const addView = (row: z.infer<typeof state> = none) => ({ ...row, views: row.views + 1 })

const ofCredits = defineProjection({ ...head, events: credits }).on({ Credited: addCredit })
const ofBoth = defineProjection({ ...head, revision: 2, events: both }).on({ Credited: addCredit, Viewed: addView })
const ofViews = defineProjection({ ...head, revision: 3, events: views }).on({ Viewed: addView })

/** The two topics, each with one partition. */
class TwoTopics extends TestLog {
  constructor() {
    super(2)
  }

  override async partitions() {
    const all = await super.partitions()
    return all.map((one) => ({ ...one, topic: one.partition === 0 ? 'credits' : 'views', partition: 0 }))
  }

  override open({ topic }: { readonly topic: string }, from: bigint, until: bigint) {
    return super.open({ topic: 'accounts', partition: topic === 'credits' ? 0 : 1 }, from, until)
  }

  async write(name: 'Credited' | 'Viewed', id: string): Promise<void> {
    const record = both.wireFormat.encode(await encodeEvent(both, name, { id }))
    const place = name === 'Credited' ? 0 : 1
    const log = this.partitionsOfTopic[place] as KafkaRecord[]
    const topic = place === 0 ? 'credits' : 'views'
    log.push({ topic, partition: 0, offset: BigInt(log.length), timestamp: 0, epoch: 1, ...record })
  }
}

let store: MemoryProjectionStore
let log: TwoTopics

beforeEach(() => {
  store = createMemoryProjectionStore({ clock: hastyClock })
  log = new TwoTopics()
})

/** Delivers all records. A dead letter fails the test. */
async function deliverTo(projector: Projector): Promise<void> {
  for (const records of log.partitionsOfTopic) await projector.handleBatch(records, undefined as never)
}

test('a binding reads the topics of former revisions too', () => {
  const projector = createProjector(ofViews, { store, previous: [ofBoth, ofCredits] })
  expect(projector.binding({ groupId: 'g' }).topic).toEqual(['views', 'credits'])
})

test('records of a topic that only a revision under way reads wait for the switch, which applies each of them once', async () => {
  await log.write('Credited', 'a')
  await deliverTo(createProjector(ofCredits, { store }))
  const projector = createProjector(ofBoth, { store, previous: [ofCredits] })
  await log.write('Viewed', 'a')
  await deliverTo(projector)
  const options = resolveRebuildOptions({
    store,
    kafka: { reader: () => {} } as never,
    runtime: hastyRuntime(),
    previous: [ofCredits],
    expectDifference: () => true,
  })
  const rebuild = auditedRebuild(new TableRebuild(ofBoth as never, options, log), 'counts', options)
  for await (const { reason } of rebuild.run(applicationOperator())) expect(reason).toBeNull()
  // No worker follows any more, and the group has read past these when the switch comes.
  for (let count = 0; count < 3; count++) await log.write('Viewed', 'a')
  await log.write('Credited', 'a')
  await deliverTo(projector)
  expect(store.find('counts', 'a')).toEqual({ credits: 2, views: 0 })
  await rebuild.switchNow(applicationOperator())
  expect(store.find('counts', 'a')).toEqual({ credits: 2, views: 4 })
  await deliverTo(projector)
  expect(store.find('counts', 'a')).toEqual({ credits: 2, views: 4 })
})

test('a dead letter among records of several topics is named by its place in the batch', async () => {
  await log.write('Credited', 'a')
  await deliverTo(createProjector(ofCredits, { store }))
  for (let count = 0; count < 2; count++) await log.write('Viewed', 'a')
  await log.write('Credited', 'a')
  const projector = createProjector(ofBoth, { store, previous: [ofCredits] })
  const [[, credit], viewed] = log.partitionsOfTopic as [KafkaRecord[], KafkaRecord[]]
  const strange: KafkaRecord = { ...(credit as KafkaRecord), offset: 2n, value: null }
  const batch = [...viewed, credit as KafkaRecord, strange]
  const failure: unknown = await Promise.resolve(projector.handleBatch(batch, undefined as never)).catch(
    (error: unknown) => error,
  )
  expect(failure).toMatchObject({ failedIndex: 3 })
  expect(store.find('counts', 'a')).toEqual({ credits: 2, views: 0 })
})
