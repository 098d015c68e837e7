import assert from 'node:assert/strict'
import type { PurgeRequest, RowStatus } from '@waybill/outbox/internal'
import {
  fenceOf,
  leaseOf,
  longMs,
  noFence,
  type OutboxStoreScene,
  type OutboxSuite,
  seqsOf,
  shortMs,
} from './outbox-store-scene.ts'

/** Tests of row queries, dead rows and purges. */
export function keepingPart(suite: OutboxSuite): void {
  suite.describe('the overview', () => overviewTests(suite))
  suite.describe('one row', () => singleTests(suite))
  suite.describe('dead rows', () => deadTests(suite))
  suite.describe('a purge', () => purgeTests(suite))
}

function overviewTests({ test }: OutboxSuite): void {
  test('tells where events are, and nothing of those that are not there', async (scene) => {
    const statuses = ['NEW', 'DONE', 'RETRY', 'DEAD'] as const
    const ids: string[] = []
    for (const status of statuses) ids.push((await scene.eventIn(status))[1].eventId)
    const found = await scene.call((store, c) => store.statusOf(c, [...ids, 'nowhere']))
    assert.deepEqual(found, new Map(statuses.map((status, index) => [ids[index] as string, status])))
    assert.deepEqual(await scene.call((store, c) => store.statusOf(c, [])), new Map())
  })

  test('counts what is not finished, up to a limit', async (scene) => {
    const look = (countUpTo: number) => scene.call((store, c) => store.backlog(c, { countUpTo }))
    const none = { pending: 0, retrying: 0, dead: 0, more: false, oldestAgeMs: 0, overdueMs: 0 }
    assert.deepEqual(await look(10), none)
    for (const status of ['NEW', 'RETRY', 'DONE', 'DEAD', 'NEW'] as const) await scene.eventIn(status)
    await scene.insert([scene.event()], { availableAt: scene.now + longMs })
    await scene.claim(leaseOf('a', 1n), { limit: 1 })
    const { pending, retrying, dead, more } = await look(4)
    assert.deepEqual([pending, retrying, dead, more], [4, 1, 1, false])
    const few = await look(3)
    assert.deepEqual([few.pending, few.more], [3, true])
    for (let n = 0; n < 3; n++) await scene.eventIn('DEAD')
    const many = await look(3)
    assert.deepEqual([many.dead, many.more], [3, true])
  })

  test('tells the age of the oldest row', async (scene) => {
    await scene.fill(1)
    const { oldestAgeMs, overdueMs } = await scene.until(
      () => scene.call((store, c) => store.backlog(c, { countUpTo: 5 })),
      (backlog) => backlog.oldestAgeMs >= shortMs,
    )
    assert.ok(oldestAgeMs < longMs)
    assert.equal(overdueMs, oldestAgeMs)
  })

  test('counts the age of a row that waits for a retry or a destination, and none of an event before its time', async (scene) => {
    await scene.insert([scene.event()], { availableAt: scene.now + longMs })
    const look = () => scene.call((store, c) => store.backlog(c, { countUpTo: 5 }))
    await scene.pass()
    assert.deepEqual(await look(), { pending: 1, retrying: 0, dead: 0, more: false, oldestAgeMs: 0, overdueMs: 0 })
    const [seq] = await scene.fill(1)
    const failed = { ...scene.row(seq as bigint), attempts: 1, delayMs: longMs, error: 'refused' }
    await scene.call((store, c) => store.markRetry(c, [failed], noFence))
    const retried = await scene.until(look, (backlog) => backlog.oldestAgeMs >= shortMs)
    assert.deepEqual([retried.pending, retried.retrying, retried.overdueMs], [2, 1, 0])
    await scene.call((store, c) => store.markDone(c, [scene.row(seq as bigint)], noFence, { whenDone: 'KEEP' }))
    const [waiting] = await scene.fill(1)
    const deferred = { ...scene.row(waiting as bigint), attempts: 0, delayMs: longMs, error: 'unavailable' }
    await scene.call((store, c) => store.markRetry(c, [deferred], noFence))
    const later = await scene.until(look, (backlog) => backlog.oldestAgeMs >= shortMs)
    assert.deepEqual([later.pending, later.retrying, later.overdueMs], [2, 0, 0])
  })
}

function singleTests({ test }: OutboxSuite): void {
  test('is found whatever its status', async (scene) => {
    for (const status of ['NEW', 'DONE', 'RETRY', 'DEAD'] as const) {
      const [seq, event] = await scene.eventIn(status)
      const found = await scene.call((store, c) => store.find(c, event.eventId))
      assert.deepEqual([found?.seq, found?.eventId, found?.status], [seq, event.eventId, status])
      assert.deepEqual(found?.event?.eventType, event.eventType)
      assert.equal(found?.diedAt === null, status === 'NEW' || status === 'RETRY')
      for (const at of [found?.createdAt, found?.availableAt])
        assert.ok(Math.abs((at ?? 0) - scene.now) <= 2 * longMs, `${at} is an instant of now`)
    }
    assert.equal(await scene.call((store, c) => store.find(c, 'nowhere')), undefined)
  })

  test('that failed blocks the later rows of its key', async (scene) => {
    const event = (aggregateId: string | null) => scene.event({ aggregateType: 'order', aggregateId })
    const [seq, first] = await scene.eventIn('DEAD', event('o-1'))
    await scene.eventIn('NEW', event('o-1'))
    await scene.eventIn('RETRY', event('o-1'))
    await scene.eventIn('DONE', event('o-1'))
    await scene.eventIn('DEAD', event('o-2'))
    await scene.eventIn('NEW', event('o-3'))
    await scene.eventIn('DEAD', event(null))
    await scene.eventIn('NEW', event(null))
    const blockers = (countUpTo: number) => scene.call((store, c) => store.blockers(c, { limit: 10, countUpTo }))
    const [only, ...others] = await blockers(5)
    assert.deepEqual(others, [])
    assert.deepEqual(
      [only?.seq, only?.eventId, only?.status, only?.key, only?.behind, only?.more],
      [seq, first.eventId, 'DEAD', { aggregateType: 'order', aggregateId: 'o-1' }, 2, false],
    )
    assert.deepEqual(
      (await blockers(1)).map(({ behind, more }) => [behind, more]),
      [[1, true]],
    )
  })
}

function deadTests({ test }: OutboxSuite): void {
  test('are listed oldest first, page by page', async (scene) => {
    const seqs = await scene.fill(5)
    await scene.call((store, c) =>
      store.markDead(
        c,
        seqs.toReversed().map((seq) => ({ ...scene.row(seq), error: `error of ${seq}` })),
        noFence,
      ),
    )
    const first = await scene.call((store, c) => store.queryDead(c, { limit: 2 }))
    assert.deepEqual(seqsOf(first), seqs.slice(0, 2))
    const after = first.at(-1)?.seq
    const rest = await scene.call((store, c) => store.queryDead(c, { limit: 10, after }))
    assert.deepEqual(seqsOf(rest), seqs.slice(2))
    assert.equal(rest[0]?.lastError, `error of ${seqs[2]}`)
    assert.equal(rest[0]?.attempts, 1)
    assert.ok(Math.abs((rest[0]?.diedAt ?? 0) - scene.now) < longMs, 'it died just now')
  })

  test('are found by their types', async (scene) => {
    for (const eventType of ['paid', 'sent'])
      for (const aggregateType of ['order', 'parcel'])
        await scene.eventIn('DEAD', scene.event({ eventType, aggregateType }))
    const find = (filter: { eventType?: string; aggregateType?: string }) =>
      scene.call(async (store, c) => {
        const found = await store.queryDead(c, { ...filter, limit: 10 })
        assert.equal(await store.countDead(c, filter), found.length)
        return found.map(({ event }) => `${event?.eventType} ${event?.aggregateType}`)
      })
    assert.equal((await find({})).length, 4)
    assert.deepEqual(await find({ eventType: 'paid' }), ['paid order', 'paid parcel'])
    assert.deepEqual(await find({ aggregateType: 'parcel' }), ['paid parcel', 'sent parcel'])
    assert.deepEqual(await find({ eventType: 'sent', aggregateType: 'order' }), ['sent order'])
    assert.deepEqual(await find({ eventType: 'Paid' }), [])
  })

  test('are found by their ids', async (scene) => {
    const [[, wanted], [, alive]] = [await scene.eventIn('DEAD'), await scene.eventIn('NEW')]
    await scene.eventIn('DEAD')
    const eventIds = [wanted.eventId, alive.eventId, 'nowhere']
    const found = await scene.call((store, c) => store.queryDead(c, { eventIds, limit: 10 }))
    assert.deepEqual(
      found.map(({ eventId }) => eventId),
      [wanted.eventId],
    )
    assert.equal(await scene.call((store, c) => store.countDead(c, { eventIds })), 1)
    assert.equal(await scene.call((store, c) => store.countDead(c, { eventIds: [] })), 0)
  })

  test('are found by the time they died', async (scene) => {
    await scene.eventIn('DEAD')
    const [dead] = await scene.call((store, c) => store.queryDead(c, { limit: 1 }))
    const count = (diedUntil: number) => scene.call((store, c) => store.countDead(c, { diedUntil }))
    const diedAt = dead?.diedAt ?? 0
    assert.deepEqual([await count(diedAt - longMs), await count(diedAt + longMs)], [0, 1])
  })

  test('are deleted by their ids, and only while they are dead', async (scene) => {
    const [[, dead], [, alive]] = [await scene.eventIn('DEAD'), await scene.eventIn('RETRY')]
    const eventIds = [dead.eventId, alive.eventId, 'nowhere']
    const remove = (ids: readonly string[]) => scene.call((store, c) => store.deleteDead(c, ids))
    assert.deepEqual([await remove([]), await remove(eventIds), await remove(eventIds)], [0, 1, 0])
    const found = await scene.call((store, c) => store.statusOf(c, eventIds))
    assert.deepEqual(found, new Map([[alive.eventId, 'RETRY']]))
  })

  test('that are replayed are as good as new', async (scene) => {
    const [seq, event] = await scene.eventIn('DEAD')
    const replay = (): Promise<number> => scene.call((store, c) => store.replayDead(c, [event.eventId, 'nowhere']))
    assert.equal(await replay(), 1)
    assert.equal(await replay(), 0)
    const lease = leaseOf('a', 1n)
    const [row] = await scene.claim(lease)
    assert.deepEqual([row?.seq, row?.attempts, row?.event], [seq, 0, event])
    await scene.call((store, c) => store.markDead(c, [{ ...scene.row(seq), error: 'again' }], fenceOf(lease)))
    const [dead] = await scene.call((store, c) => store.queryDead(c, { limit: 1 }))
    assert.deepEqual([dead?.attempts, dead?.lastError], [1, 'again'])
  })

  test('are the only ones that are replayed', async (scene) => {
    for (const status of ['NEW', 'RETRY', 'DONE'] as const) {
      const [, event] = await scene.eventIn(status)
      assert.equal(await scene.call((store, c) => store.replayDead(c, [event.eventId])), 0)
      assert.equal(await scene.statusOf(event), status)
    }
  })

  test('are replayed once, by however many at the same time', async (scene) => {
    const [, event] = await scene.eventIn('DEAD')
    const replayed = await Promise.all(
      [scene.one, scene.other].map((node) => node.connection((c) => scene.store.replayDead(c, [event.eventId]))),
    )
    assert.deepEqual(new Set(replayed), new Set([0, 1]))
  })
}

function purge(scene: OutboxStoreScene, of: PurgeRequest): Promise<number> {
  return scene.call((store, c) => store.purge(c, of))
}

/** Inserts a row of each status, and returns a function that lists the remaining ones. */
async function fillEach(scene: OutboxStoreScene): Promise<() => Promise<RowStatus[]>> {
  const statuses = ['NEW', 'RETRY', 'DONE', 'DEAD'] as const
  const ids = new Map<RowStatus, string>()
  for (const status of statuses) ids.set(status, (await scene.eventIn(status))[1].eventId)
  return async () => {
    const found = await scene.call((store, c) => store.statusOf(c, [...ids.values()]))
    return statuses.filter((status) => found.has(ids.get(status) as string))
  }
}

function purgeTests({ test }: OutboxSuite): void {
  for (const status of ['DONE', 'DEAD'] as const)
    test(`of ${status} rows deletes none of the others`, async (scene) => {
      const left = await fillEach(scene)
      await scene.pass()
      assert.equal(await purge(scene, { kind: 'FINISHED', status, olderThanMs: 1, limit: 10, archive: false }), 1)
      assert.deepEqual(
        await left(),
        ['NEW', 'RETRY', 'DONE', 'DEAD'].filter((one) => one !== status),
      )
      assert.equal(await purge(scene, { kind: 'FINISHED', status, olderThanMs: 1, limit: 10, archive: false }), 0)
    })

  for (const status of ['DONE', 'DEAD'] as const)
    test(`leaves ${status} rows alone until their time has passed`, async (scene) => {
      await scene.eventIn(status)
      assert.equal(await purge(scene, { kind: 'FINISHED', status, olderThanMs: longMs, limit: 10, archive: false }), 0)
      await scene.until(
        () => purge(scene, { kind: 'FINISHED', status, olderThanMs: shortMs, limit: 10, archive: false }),
        (deleted) => deleted === 1,
      )
    })

  test('counts from the end of a row, not from its beginning', async (scene) => {
    const [old, oldEvent] = await scene.eventIn('NEW')
    await scene.until(
      () => scene.call((store, c) => store.backlog(c, { countUpTo: 1 })),
      ({ oldestAgeMs }) => oldestAgeMs >= shortMs,
    )
    await scene.call((store, c) => store.markDone(c, [scene.row(old)], noFence, { whenDone: 'KEEP' }))
    // It was created longer ago than this, and finished just now.
    assert.equal(
      await purge(scene, { kind: 'FINISHED', status: 'DONE', olderThanMs: longMs, limit: 10, archive: false }),
      0,
    )
    assert.equal(await scene.statusOf(oldEvent), 'DONE')
  })

  test('deletes the oldest first and no more than its limit', async (scene) => {
    const events = scene.events(7)
    const seqs = await scene.insert(events)
    for (const part of [seqs.slice(0, 3), seqs.slice(3)]) {
      await scene.call((store, c) => store.markDone(c, scene.rows(part), noFence, { whenDone: 'KEEP' }))
      await scene.pass()
    }
    const ofDone: PurgeRequest = { kind: 'FINISHED', status: 'DONE', olderThanMs: 1, limit: 3, archive: false }
    assert.equal(await purge(scene, ofDone), 3)
    const ids = events.map(({ eventId }) => eventId)
    const left = await scene.call((store, c) => store.statusOf(c, ids))
    assert.deepEqual([...left.keys()].toSorted(), ids.slice(3).toSorted())
    assert.equal(await purge(scene, ofDone), 3)
    assert.equal(await purge(scene, ofDone), 1)
    assert.equal(await purge(scene, ofDone), 0)
  })

  test('by age deletes rows of any status, oldest first', async (scene) => {
    const left = await fillEach(scene)
    assert.equal(await purge(scene, { kind: 'AGE', olderThanMs: longMs, limit: 10 }), 0)
    await scene.pass()
    assert.equal(await purge(scene, { kind: 'AGE', olderThanMs: 1, limit: 3 }), 3)
    assert.deepEqual(await left(), ['DEAD'])
    assert.equal(await purge(scene, { kind: 'AGE', olderThanMs: 1, limit: 3 }), 1)
  })
}
