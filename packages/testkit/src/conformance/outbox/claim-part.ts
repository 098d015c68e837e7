import assert from 'node:assert/strict'
import { shardOf } from '@waybill/outbox/internal'
import {
  allDue,
  allNew,
  fenceOf,
  leaseOf,
  noFence,
  type OutboxStoreScene,
  type OutboxSuite,
  seqsOf,
  shortMs,
} from './outbox-store-scene.ts'

/** Tests of claims: which node gets a row, and for how long. */
export function claimPart(suite: OutboxSuite): void {
  suite.describe('a claim', () => {
    takeTests(suite)
    leaseTests(suite)
    concurrencyTests(suite)
  })
  suite.describe('a query for pending rows', () => queryTests(suite))
  suite.describe('a row that cannot be read', () => unreadableTests(suite))
}

function takeTests({ test }: OutboxSuite): void {
  test('takes the oldest rows, no more than its limit', async (scene) => {
    const seqs = await scene.fill(5)
    assert.deepEqual(seqsOf(await scene.claim(leaseOf('a', 1n), { limit: 3 })), seqs.slice(0, 3))
    assert.deepEqual(seqsOf(await scene.claim(leaseOf('a', 2n), { limit: 3 })), seqs.slice(3))
    assert.deepEqual(await scene.claim(leaseOf('a', 3n), { limit: 3 }), [])
  })

  test('does what a look does not: taken rows are not taken again', async (scene) => {
    const seqs = await scene.fill(2)
    await scene.poll()
    assert.deepEqual(seqsOf(await scene.claim(leaseOf('a', 1n))), seqs)
    assert.deepEqual(seqsOf(await scene.poll()), seqs)
    assert.deepEqual(await scene.claim(leaseOf('b', 1n), {}, scene.other), [])
  })

  test('answers the same rows when it is repeated after its answer was lost', async (scene) => {
    const seqs = await scene.fill(4)
    const lease = leaseOf('a', 1n)
    await scene.claim(lease, { limit: 2 })
    assert.deepEqual(seqsOf(await scene.claim(lease, { limit: 2 })), seqs.slice(0, 2))
    assert.deepEqual(seqsOf(await scene.claim(leaseOf('a', 2n))), seqs.slice(2))
  })

  test('takes no finished row', async (scene) => {
    await scene.eventIn('DONE')
    await scene.eventIn('DEAD')
    assert.deepEqual(await scene.claim(leaseOf('a', 1n)), [])
    assert.deepEqual(await scene.claim(leaseOf('a', 2n), allDue), [])
  })

  test('takes a row that waits only when its time has come, with its attempts', async (scene) => {
    const [seq] = await scene.eventIn('NEW')
    await scene.call((store, connection) =>
      store.markRetry(connection, [{ ...scene.row(seq), attempts: 1, delayMs: shortMs, error: 'e' }], noFence),
    )
    assert.deepEqual(await scene.claim(leaseOf('a', 1n), allNew), [])
    const rows = await scene.until(
      () => scene.claim(leaseOf('a', 2n), allDue),
      ({ length }) => length > 0,
    )
    assert.deepEqual(
      rows.map((row) => [row.seq, row.attempts]),
      [[seq, 1]],
    )
    assert.deepEqual(await scene.claim(leaseOf('b', 3n), allDue), [])
  })
}

function leaseTests({ test }: OutboxSuite): void {
  test('holds until its time has run out, and then another gets the rows', async (scene) => {
    const seqs = await scene.fill(2)
    await scene.claim(leaseOf('a', 1n, shortMs))
    const rows = await scene.until(
      () => scene.claim(leaseOf('b', 2n), {}, scene.other),
      ({ length }) => length > 0,
    )
    assert.deepEqual(seqsOf(rows), seqs)
    const late = await finish(scene, seqs, 'a', 1n)
    assert.deepEqual(late, [], 'who lost the rows cannot finish them')
    assert.deepEqual(await finish(scene, seqs, 'b', 2n), seqs)
  })

  test('lasts as long as its owner said, however short the time of others is', async (scene) => {
    const [taken = 0n] = await scene.fill(2)
    await scene.claim(leaseOf('long', 1n), { limit: 1 })
    await scene.claim(leaseOf('short', 1n, 1))
    await scene.insert(scene.events(1), { lease: leaseOf('writer', 1n) })
    // The lease of the second row has expired, so time has passed; the other leases are still valid.
    const rows = await scene.until(
      () => scene.claim(leaseOf('thief', 2n, 1), {}, scene.other),
      ({ length }) => length > 0,
    )
    assert.equal(rows.length, 1)
    await scene.call((store, connection) => store.renew(connection, scene.rows([taken]), leaseOf('long', 1n)))
    await scene.pass()
    assert.equal((await scene.claim(leaseOf('thief', 3n, 1), {}, scene.other)).length, 1)
  })

  test('that is renewed holds on', async (scene) => {
    const [first = 0n, second = 0n] = await scene.fill(2)
    const lease = leaseOf('a', 1n, 3 * shortMs)
    await scene.claim(lease)
    // Only the first is renewed: when the second can be taken, the first would be free as well.
    const rows = await scene.until(
      async () => {
        const held = await scene.call((store, connection) => store.renew(connection, scene.rows([first]), lease))
        assert.deepEqual(held, [first])
        return scene.claim(leaseOf('b', 2n, 3 * shortMs), {}, scene.other)
      },
      ({ length }) => length > 0,
    )
    assert.deepEqual(seqsOf(rows), [second])
  })

  test('is renewed only for rows that are still held', async (scene) => {
    const [held = 0n, done = 0n, foreign = 0n] = await scene.fill(3)
    const lease = leaseOf('a', 1n)
    await scene.claim(lease, { limit: 2 })
    await scene.claim(leaseOf('b', 1n))
    await finish(scene, [done], 'a', 1n)
    const asked = scene.rows([held, done, foreign])
    const renewed = await scene.call((store, connection) => store.renew(connection, asked, lease))
    assert.deepEqual(renewed, [held])
  })

  test('that is released leaves the rows to others at once', async (scene) => {
    const [first = 0n, second = 0n] = await scene.fill(2)
    const lease = leaseOf('a', 1n)
    await scene.claim(lease)
    const release = (owner: string): Promise<bigint[]> =>
      scene.call((store, connection) => store.release(connection, scene.rows([first]), leaseOf(owner, 1n)))
    assert.deepEqual(await release('b'), [])
    assert.deepEqual(await release('a'), [first])
    assert.deepEqual(await release('a'), [])
    const [row] = await scene.claim(leaseOf('c', 1n))
    assert.deepEqual([row?.seq, row?.attempts], [first, 0])
    assert.deepEqual(await finish(scene, [first, second], 'a', 1n), [second])
  })

  test('is neither renewed nor released for an event whose number is another one’s by now', async (scene) => {
    const events = scene.events(2)
    const seqs = await scene.insert(events)
    const lease = leaseOf('a', 1n)
    await scene.claim(lease)
    await scene.reuseNumber(events[0] as (typeof events)[number])
    const others = seqs.slice(1)
    assert.deepEqual(await scene.call((store, c) => store.renew(c, scene.rows(seqs), lease)), others)
    assert.deepEqual(await scene.call((store, c) => store.release(c, scene.rows(seqs), lease)), others)
    assert.deepEqual(seqsOf(await scene.claim(leaseOf('b', 1n))), others, 'the newcomer is still claimed')
  })
}

function concurrencyTests({ test, testWith }: OutboxSuite): void {
  test('and another at the same time share the rows, each row once', async (scene) => {
    const seqs = await scene.fill(400)
    const drain = async (owner: string): Promise<bigint[]> => {
      const taken: bigint[] = []
      const node = owner === 'a' ? scene.one : scene.other
      for (let version = 1n; taken.length < 400; version++) {
        const rows = await scene.claim(leaseOf(owner, version), { limit: 7 }, node)
        if (rows.length === 0 && version > 5n) break
        taken.push(...seqsOf(rows))
      }
      return taken
    }
    const shares = await Promise.all([drain('a'), drain('b')])
    // A claim that meets only locked rows returns none, so some may be left for a third.
    const rest = seqsOf(await scene.claim(leaseOf('c', 1n)))
    const all = [...shares.flat(), ...rest]
    assert.equal(all.length, 400)
    assert.deepEqual(new Set(all), new Set(seqs))
  })

  testWith('ROW_LOCKS', 'passes over rows that another transaction has locked', async (scene) => {
    const [, dead] = await scene.eventIn('DEAD')
    const seqs = await scene.fill(2)
    await scene.one.transaction(async (connection) => {
      assert.equal(await scene.store.replayDead(connection, [dead.eventId]), 1)
      // The other node must not wait for this transaction, which waits for it.
      const rows = await scene.claim(leaseOf('b', 1n), {}, scene.other)
      assert.deepEqual(seqsOf(rows), seqs)
    })
  })
}

function queryTests({ test }: OutboxSuite): void {
  test('leaves out rows below its floor', async (scene) => {
    const seqs = await scene.fill(4)
    assert.deepEqual(seqsOf(await scene.poll({ floor: seqs[1] ?? 0n })), seqs.slice(2))
    assert.deepEqual(seqsOf(await scene.claim(leaseOf('a', 1n), { floor: seqs[1] ?? 0n })), seqs.slice(2))
    assert.deepEqual(seqsOf(await scene.claim(leaseOf('a', 2n))), seqs.slice(0, 2))
  })

  test('leaves out rows that were created just now', async (scene) => {
    const seqs = await scene.fill(2)
    assert.deepEqual(await scene.poll({ skipRecentMs: 60_000 }), [])
    assert.deepEqual(await scene.claim(leaseOf('a', 1n), { skipRecentMs: 60_000 }), [])
    const rows = await scene.until(
      () => scene.claim(leaseOf('a', 2n), { skipRecentMs: shortMs }),
      ({ length }) => length > 0,
    )
    assert.deepEqual(seqsOf(rows), seqs)
  })

  for (const wanted of [1, 2, 5])
    test(`answers rows of ${wanted} shards alone`, async (scene) => {
      const events = scene.events(60)
      const seqs = await scene.insert(events)
      const shards = [...new Set(events.map(shardOf))].slice(0, wanted)
      const expected = seqs.filter((_, index) => shards.includes(shardOf(events[index] as (typeof events)[number])))
      assert.deepEqual(seqsOf(await scene.poll({ shards })), expected)
      assert.deepEqual(seqsOf(await scene.claim(leaseOf('a', 1n), { shards, limit: 2 })), expected.slice(0, 2))
      assert.deepEqual(seqsOf(await scene.claim(leaseOf('a', 2n), { shards })), expected.slice(2))
      await scene.call((store, connection) =>
        store.markRetry(
          connection,
          seqs.map((seq) => ({ ...scene.row(seq), attempts: 1, delayMs: 0, error: 'e' })),
          noFence,
        ),
      )
      assert.deepEqual(seqsOf(await scene.claim(leaseOf('a', 3n), { ...allDue, shards })), expected)
    })
}

function unreadableTests({ test }: OutboxSuite): void {
  test('is reported beside the others, which are not delayed', async (scene) => {
    const events = scene.events(3)
    const seqs = await scene.insert(events)
    const spoiled = events[1] as (typeof events)[number]
    await scene.spoil(spoiled)
    for (const rows of [await scene.poll(), await scene.claim(leaseOf('a', 1n))]) {
      assert.deepEqual(seqsOf(rows), seqs)
      assert.deepEqual(rows[0]?.event, events[0])
      assert.deepEqual(rows[2]?.event, events[2])
      const row = rows[1]
      assert.ok(row?.event === null && row.problem instanceof Error)
      assert.equal(row.eventId, spoiled.eventId)
    }
    const dead = await scene.call((store, connection) =>
      store.markDead(connection, [{ ...scene.row(seqs[1] as bigint), error: 'unreadable' }], fenceOf(leaseOf('a', 1n))),
    )
    assert.deepEqual(dead, [seqs[1]])
    const [listed] = await scene.call((store, connection) => store.queryDead(connection, { limit: 5 }))
    assert.deepEqual([listed?.eventId, listed?.event], [spoiled.eventId, null])
  })
}

function finish(scene: OutboxStoreScene, seqs: readonly bigint[], owner: string, version: bigint): Promise<bigint[]> {
  return scene.call((store, connection) =>
    store.markDone(connection, scene.rows(seqs), fenceOf({ owner, version }), { whenDone: 'KEEP' }),
  )
}
