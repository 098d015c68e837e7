import assert from 'node:assert/strict'
import { type ShardLease, soleNodeShard } from '@waybill/outbox/internal'
import { allDue, allNew, type OutboxSuite, seqsOf, shortMs } from './outbox-store-scene.ts'
import { take } from './shard-part.ts'

/** Tests of one node that works on the whole table under its lease. */
export function soleNodePart(suite: OutboxSuite): void {
  suite.describe('a finish by the right of the one node', () => fenceTests(suite))
}

function fenceTests({ test }: OutboxSuite): void {
  test('changes rows of whatever shard, in each way', async (scene) => {
    const events = [...scene.events(5), scene.event({ aggregateId: null })]
    const [done = 0n, deleted = 0n, retried = 0n, dead = 0n, ...others] = await scene.insert(events)
    const [lease] = await take(scene, 'a', [soleNodeShard])
    assert.ok(lease !== undefined)
    const fence = { kind: 'TABLE', lease } as const
    const changed = await scene.call(async (store, c) => [
      ...(await store.markDone(c, [scene.row(done)], fence, { whenDone: 'KEEP' })),
      ...(await store.markDone(c, [scene.row(deleted)], fence, { whenDone: 'DELETE' })),
      ...(await store.markRetry(c, [{ ...scene.row(retried), attempts: 1, delayMs: 0, error: 'e' }], fence)),
      ...(await store.markDead(c, [{ ...scene.row(dead), error: 'e' }], fence)),
    ])
    assert.deepEqual(changed, [done, deleted, retried, dead])
    assert.deepEqual(seqsOf(await scene.poll(allNew)), others)
    const ids = events.slice(0, 4).map(({ eventId }) => eventId)
    const statuses = await scene.call((store, c) => store.statusOf(c, ids))
    assert.deepEqual(
      ids.map((id) => statuses.get(id)),
      ['DONE', undefined, 'RETRY', 'DEAD'],
    )
  })

  test('answers which rows it changed where some were finished before', async (scene) => {
    const seqs = await scene.fill(3)
    const [lease] = await take(scene, 'a', [soleNodeShard])
    assert.ok(lease !== undefined)
    const finish = (some: readonly bigint[]): Promise<bigint[]> =>
      scene.call((store, c) => store.markDone(c, scene.rows(some), { kind: 'TABLE', lease }, { whenDone: 'KEEP' }))
    assert.deepEqual(await finish(seqs.slice(0, 1)), seqs.slice(0, 1))
    assert.deepEqual(await finish(seqs), seqs.slice(1))
  })

  test('leaves the attempts that an heir has counted', async (scene) => {
    const [seq = 0n] = await scene.fill(1)
    const retry = (lease: ShardLease | undefined, attempts: number): Promise<bigint[]> => {
      assert.ok(lease !== undefined)
      return scene.call((store, c) =>
        store.markRetry(c, [{ ...scene.row(seq), attempts, delayMs: 0, error: 'e' }], { kind: 'TABLE', lease }),
      )
    }
    const [mine] = await take(scene, 'a', [soleNodeShard], shortMs)
    const [theirs] = await scene.until(
      () => take(scene, 'b', [soleNodeShard]),
      ({ length }) => length > 0,
    )
    assert.deepEqual(await retry(theirs, 7), [seq])
    assert.deepEqual(await retry(mine, 1), [])
    const [row] = await scene.poll(allDue)
    assert.equal(row?.attempts, 7)
  })

  test('changes nothing after the lease was taken over or released, and everything while it is expired and not taken over', async (scene) => {
    const seqs = await scene.fill(2)
    const finish = ([lease]: readonly ShardLease[]): Promise<bigint[]> => {
      assert.ok(lease !== undefined)
      return scene.call((store, c) =>
        store.markDone(c, scene.rows(seqs), { kind: 'TABLE', lease }, { whenDone: 'DELETE' }),
      )
    }
    const first = await take(scene, 'a', [soleNodeShard])
    const second = await take(scene, 'a', [soleNodeShard])
    assert.deepEqual(await finish(first), [], 'a version before')
    await scene.call((store, c) => store.releaseShards(c, second))
    assert.deepEqual(await finish(second), [], 'given back')
    const third = await take(scene, 'a', [soleNodeShard], shortMs)
    await scene.until(
      () => scene.call((store, c) => store.shardOwners(c)),
      ({ length }) => length === 0,
    )
    assert.deepEqual(await finish(third), seqs, 'run out')
  })
}
