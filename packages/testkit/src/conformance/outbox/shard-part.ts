import assert from 'node:assert/strict'
import type { EventEnvelope } from '@waybill/core'
import {
  firstPresenceShard,
  purgeShard,
  type ShardLease,
  type ShardPart,
  shardCount,
  shardOf,
  soleNodeShard,
} from '@waybill/outbox/internal'
import {
  allDue,
  longMs,
  manyBytes,
  noFence,
  type OutboxStoreScene,
  type OutboxSuite,
  seqsOf,
  shortMs,
} from './outbox-store-scene.ts'

const allShards = Array.from({ length: shardCount }, (_, shard) => shard)

/** Tests of shards: their leases, and reading and finishing rows under a lease. */
export function shardPart(suite: OutboxSuite): void {
  suite.describe('a shard', () => leaseTests(suite))
  suite.describe('a look into shards', () => readTests(suite))
  suite.describe('a finish by the right of shards', () => fenceTests(suite))
  suite.describe('keys with a dead row', () => deadKeyTests(suite))
}

/** Leases shards: 'b' is on the other node. */
export function take(
  scene: OutboxStoreScene,
  owner: string,
  shards: readonly number[],
  timeoutMs: number = longMs,
): Promise<ShardLease[]> {
  const node = owner === 'b' ? scene.other : scene.one
  return node.connection((connection) => scene.store.takeShards(connection, owner, shards, timeoutMs))
}

function leaseTests({ test }: OutboxSuite): void {
  test('is one owner’s, until he gives it back', async (scene) => {
    const mine = await take(scene, 'a', [3, 1, 2])
    assert.deepEqual(
      mine.map(({ shard, owner }) => [shard, owner]),
      [
        [1, 'a'],
        [2, 'a'],
        [3, 'a'],
      ],
    )
    const theirs = await take(scene, 'b', [2, 3, 4])
    assert.deepEqual(
      theirs.map(({ shard }) => shard),
      [4],
    )
    assert.deepEqual(await scene.call((store, c) => store.shardOwners(c)), [...mine, ...theirs])
    await scene.call((store, c) => store.releaseShards(c, mine.slice(1)))
    const freed = await take(scene, 'b', [1, 2, 3])
    assert.deepEqual(
      freed.map(({ shard }) => shard),
      [2, 3],
    )
  })

  test('has a higher version whenever it is taken, and the same when it is renewed', async (scene) => {
    const versions: bigint[] = []
    for (const owner of ['a', 'a', 'b', 'a']) {
      const [lease] = await take(scene, owner, [7])
      assert.ok(lease !== undefined)
      assert.deepEqual(await scene.call((store, c) => store.renewShards(c, [lease], longMs)), [lease])
      versions.push(lease.version)
      if (owner !== 'a' || versions.length > 1) await scene.call((store, c) => store.releaseShards(c, [lease]))
    }
    assert.deepEqual(
      versions,
      [...new Set(versions)].toSorted((one, other) => Number(one - other)),
    )
    assert.equal(versions.length, 4)
  })

  test('goes to another when its time has run out, and is then lost', async (scene) => {
    const [mine] = await take(scene, 'a', [5], shortMs)
    assert.ok(mine !== undefined)
    const [theirs] = await scene.until(
      () => take(scene, 'b', [5]),
      ({ length }) => length > 0,
    )
    assert.ok(theirs !== undefined && theirs.version > mine.version)
    assert.deepEqual(await scene.call((store, c) => store.renewShards(c, [mine], longMs)), [])
    await scene.call((store, c) => store.releaseShards(c, [mine]))
    assert.deepEqual(await scene.call((store, c) => store.shardOwners(c)), [theirs])
  })

  test('that is renewed holds on, and one beside it runs out', async (scene) => {
    const [kept, dropped] = await take(scene, 'a', [1, 2], 3 * shortMs)
    assert.ok(kept !== undefined && dropped !== undefined)
    const taken = await scene.until(
      async () => {
        await scene.call((store, c) => store.renewShards(c, [kept], 3 * shortMs))
        return take(scene, 'b', [1, 2])
      },
      ({ length }) => length > 0,
    )
    assert.deepEqual(
      taken.map(({ shard }) => shard),
      [2],
    )
  })

  test('has no owner any more when its time has run out', async (scene) => {
    await take(scene, 'a', [1], shortMs)
    await scene.until(
      () => scene.call((store, c) => store.shardOwners(c)),
      ({ length }) => length === 0,
    )
  })

  test('goes to one of two who take it at the same time', async (scene) => {
    const [mine, theirs] = await Promise.all([take(scene, 'a', allShards), take(scene, 'b', allShards.toReversed())])
    const taken = [...mine, ...theirs].map(({ shard }) => shard)
    assert.deepEqual(
      taken.toSorted((one, other) => one - other),
      allShards,
    )
  })

  test('may have a number with a meaning of its own', async (scene) => {
    const special = [firstPresenceShard - shardCount + 1, firstPresenceShard, purgeShard, soleNodeShard]
    const mine = await take(scene, 'a', special)
    assert.deepEqual(
      mine.map(({ shard }) => shard),
      special,
    )
    assert.deepEqual(await take(scene, 'b', [soleNodeShard]), [])
  })

  test('need not be one: no shards, no leases', async (scene) => {
    assert.deepEqual(await take(scene, 'a', []), [])
    assert.deepEqual(await scene.call((store, c) => store.renewShards(c, [], longMs)), [])
    await scene.call((store, c) => store.releaseShards(c, []))
  })
}

function partsOf(shards: readonly number[], part: Partial<ShardPart> = {}): ShardPart[] {
  return shards.map((shard) => ({ shard, floor: null, without: [], ...part }))
}

function read(scene: OutboxStoreScene, shards: readonly ShardPart[], limit = 100, maxBytes = manyBytes) {
  return scene.call((store, c) => store.readShards(c, { shards, limit, maxBytes }))
}

function readTests({ test }: OutboxSuite): void {
  test('answers the pending rows of each in order, without taking them', async (scene) => {
    const events = scene.events(80)
    const seqs = await scene.insert(events)
    const expected = events
      .map((event, index) => ({ seq: seqs[index] as bigint, shard: shardOf(event) }))
      .toSorted((one, other) => one.shard - other.shard || Number(one.seq - other.seq))
    for (const _ of [1, 2]) {
      const rows = await read(scene, partsOf(allShards))
      assert.deepEqual(
        rows.map(({ seq, shard }) => ({ seq, shard })),
        expected,
      )
    }
    const [first] = expected
    const rows = await read(scene, partsOf([first?.shard as number]))
    assert.deepEqual(seqsOf(rows), seqsOf(expected.filter(({ shard }) => shard === first?.shard)))
  })

  test('is limited for each shard, and each has a floor of its own', async (scene) => {
    const one = await ofKey(scene, 'one', 4)
    const two = await ofKey(scene, 'two', 4)
    const parts = [
      { shard: one.shard, floor: one.seqs[1] as bigint, without: [] },
      { shard: two.shard, floor: null, without: [] },
    ].toSorted((a, b) => a.shard - b.shard)
    const rows = await read(scene, parts, 2)
    assert.deepEqual(new Set(seqsOf(rows)), new Set([...one.seqs.slice(2), ...two.seqs.slice(0, 2)]))
  })

  test('leaves out keys that are held back, so that others show', async (scene) => {
    const held = await ofKey(scene, `it's "held", {back}\\`, 3)
    const free = scene.event({ aggregateId: null })
    const sameShard = await inShard(scene, held.shard)
    const seqs = await scene.insert([free, ...sameShard])
    const key = { aggregateType: 'order', aggregateId: `it's "held", {back}\\` }
    const others = [
      { aggregateType: 'parcel', aggregateId: key.aggregateId },
      { aggregateType: 'order', aggregateId: 'unknown' },
    ]
    const parts = (without: ShardPart['without']): ShardPart[] =>
      partsOf([...new Set([held.shard, shardOf(free)])], { without })
    assert.deepEqual(new Set(seqsOf(await read(scene, parts([key]), 2))), new Set(seqs))
    assert.equal((await read(scene, parts(others))).length, held.seqs.length + seqs.length)
  })

  test('shows a row with a key before it is due, and one without a key only then', async (scene) => {
    const keyed = scene.event({ aggregateId: 'waits' })
    const loose = scene.event({ aggregateId: null })
    const seqs = await scene.insert([keyed, loose])
    await scene.call((store, c) =>
      store.markRetry(
        c,
        seqs.map((seq) => ({ ...scene.row(seq), attempts: 1, delayMs: longMs, error: 'e' })),
        noFence,
      ),
    )
    const rows = await read(scene, partsOf([...new Set([keyed, loose].map(shardOf))]))
    assert.deepEqual(seqsOf(rows), [seqs[0]])
    const [row] = rows
    assert.deepEqual([row?.key, row?.attempts], [{ aggregateType: 'order', aggregateId: 'waits' }, 1])
    assert.ok(row !== undefined && row.dueInMs > longMs / 2 && row.dueInMs <= longMs)
    await scene.call((store, c) =>
      store.markRetry(c, [{ ...scene.row(seqs[1] as bigint), attempts: 2, delayMs: 0, error: 'e' }], noFence),
    )
    const due = await read(scene, partsOf([shardOf(loose)]))
    assert.deepEqual(
      due.filter(({ key }) => key === null).map(({ seq, dueInMs }) => [seq, dueInMs]),
      [[seqs[1], 0]],
    )
  })

  test('shows no finished row, and an unreadable one with its key', async (scene) => {
    const [, done] = await scene.eventIn('DONE')
    const [, dead] = await scene.eventIn('DEAD')
    const [seq, spoiled] = await scene.eventIn('NEW')
    await scene.spoil(spoiled)
    const rows = await read(scene, partsOf([...new Set([done, dead, spoiled].map(shardOf))]))
    assert.deepEqual(
      rows.map((row) => [row.seq, row.event, row.key?.aggregateId]),
      [[seq, null, spoiled.aggregateId]],
    )
  })

  test('may be into none', async (scene) => {
    assert.deepEqual(await read(scene, []), [])
  })
}

function fenceTests({ test }: OutboxSuite): void {
  test('counts no attempt twice when a call is repeated after its answer was lost', async (scene) => {
    const { shard, seqs } = await ofKey(scene, 'one', 3)
    const fence = { kind: 'SHARDS', leases: await take(scene, 'a', [shard]) } as const
    const rows = seqs.map((seq, index) => ({ ...scene.row(seq), attempts: index + 1, delayMs: 0, error: 'e' }))
    for (const _ of ['answered', 'repeated']) await scene.call((store, c) => store.markRetry(c, rows, fence))
    const attempts = (await scene.poll(allDue)).map((row) => [row.seq, row.attempts] as const)
    assert.deepEqual(new Map(attempts), new Map(rows.map((row) => [row.seq, row.attempts])))
  })

  test('changes rows of the shards that are held, and no others', async (scene) => {
    const one = await ofKey(scene, 'one', 2)
    const two = await ofKey(scene, 'two', 2)
    assert.notEqual(one.shard, two.shard)
    const leases = await take(scene, 'a', [one.shard])
    await take(scene, 'b', [two.shard])
    const fence = { kind: 'SHARDS', leases } as const
    const [first = 0n, second = 0n] = one.seqs
    const retried = await scene.call((store, c) =>
      store.markRetry(
        c,
        [first, ...two.seqs].map((seq) => ({ ...scene.row(seq), attempts: 1, delayMs: 0, error: 'e' })),
        fence,
      ),
    )
    assert.deepEqual(retried, [first])
    const dead = await scene.call((store, c) =>
      store.markDead(
        c,
        [first, ...two.seqs].map((seq) => ({ ...scene.row(seq), error: 'e' })),
        fence,
      ),
    )
    assert.deepEqual(dead, [first])
    for (const whenDone of ['KEEP', 'DELETE'] as const) {
      const done = await scene.call((store, c) =>
        store.markDone(c, scene.rows([...two.seqs, second]), fence, { whenDone }),
      )
      assert.deepEqual(done, whenDone === 'KEEP' ? [second] : [])
    }
  })

  test('changes rows of many shards at once', async (scene) => {
    const events = scene.events(50)
    const seqs = await scene.insert(events)
    const leases = await take(scene, 'a', [...new Set(events.map(shardOf))])
    const done = await scene.call((store, c) =>
      store.markDone(c, scene.rows(seqs), { kind: 'SHARDS', leases }, { whenDone: 'DELETE' }),
    )
    assert.deepEqual(done, seqs)
  })

  test('changes nothing when the lease was taken over, given back, or has run out', async (scene) => {
    const { shard, seqs } = await ofKey(scene, 'one', 1)
    const finish = (leases: readonly ShardLease[]): Promise<bigint[]> =>
      scene.call((store, c) => store.markDone(c, scene.rows(seqs), { kind: 'SHARDS', leases }, { whenDone: 'KEEP' }))
    assert.deepEqual(await finish([]), [])
    const first = await take(scene, 'a', [shard])
    const second = await take(scene, 'a', [shard])
    assert.deepEqual(await finish(first), [], 'a version before')
    await scene.call((store, c) => store.releaseShards(c, second))
    assert.deepEqual(await finish(second), [], 'given back')
    const third = await take(scene, 'a', [shard], shortMs)
    await scene.until(
      () => scene.call((store, c) => store.shardOwners(c)),
      ({ length }) => length === 0,
    )
    assert.deepEqual(await finish(third), [], 'run out')
    const fourth = await take(scene, 'a', [shard])
    assert.deepEqual(await finish(fourth), seqs)
  })
}

function deadKeyTests({ test }: OutboxSuite): void {
  test('are reported once each with their first dead row, in order of shard and number', async (scene) => {
    const one = await ofKey(scene, 'one', 3)
    const two = await ofKey(scene, 'two', 1)
    const loose = await scene.insert([scene.event({ aggregateId: null })])
    const alive = await ofKey(scene, 'alive', 1)
    const dead = [...one.seqs.slice(1), ...two.seqs, ...loose]
    await scene.call((store, c) =>
      store.markDead(
        c,
        dead.map((seq) => ({ ...scene.row(seq), error: 'e' })),
        noFence,
      ),
    )
    const find = (shards: readonly number[], limit = 10) =>
      scene.call((store, c) => store.deadKeys(c, { shards, limit }))
    const expected = [
      { shard: one.shard, key: { aggregateType: 'order', aggregateId: 'one' }, seq: one.seqs[1] },
      { shard: two.shard, key: { aggregateType: 'order', aggregateId: 'two' }, seq: two.seqs[0] },
    ].toSorted((a, b) => a.shard - b.shard)
    assert.deepEqual(await find(allShards), expected)
    assert.deepEqual(await find(allShards, 1), expected.slice(0, 1))
    assert.deepEqual(await find([alive.shard].filter((shard) => shard !== one.shard && shard !== two.shard)), [])
    assert.deepEqual(await find([]), [])
  })
}

/** Returns events of one key, and their shard. */
export async function ofKey(
  scene: OutboxStoreScene,
  aggregateId: string,
  count: number,
): Promise<{ readonly shard: number; readonly seqs: readonly bigint[] }> {
  const events = Array.from({ length: count }, () => scene.event({ aggregateId }))
  return { shard: shardOf(events[0] as EventEnvelope), seqs: await scene.insert(events) }
}

/** Returns an event of another key in the same shard. */
export async function inShard(scene: OutboxStoreScene, shard: number): Promise<EventEnvelope[]> {
  for (;;) {
    const event = scene.event()
    if (shardOf(event) === shard) return [event]
  }
}
