import assert from 'node:assert/strict'
import type { EventEnvelope } from '@waybill/core'
import { type ShardPart, shardOf } from '@waybill/outbox/internal'
import { allDue, leaseOf, noFence, type OutboxStoreScene, type OutboxSuite, seqsOf } from './outbox-store-scene.ts'

/** Tests of reads that are limited by bytes: rows that are left out stay where they are. */
export function bytesPart(suite: OutboxSuite): void {
  suite.describe('a read limited by bytes', () => {
    pollTests(suite)
    claimTests(suite)
    shardTests(suite)
  })
}

/** Events whose payloads have these sizes. */
function sized(scene: OutboxStoreScene, ...sizes: readonly number[]): EventEnvelope[] {
  return sizes.map((size) => scene.event({ payloadJson: `"${'x'.repeat(size - 2)}"` }))
}

function pollTests({ test }: OutboxSuite): void {
  test('I24 returns rows up to the one that reaches the limit', async (scene) => {
    const events = sized(scene, 1_000, 1_000, 1_000, 1_000, 1_000)
    const seqs = await scene.insert(events)
    for (const limit of [5, 1_000]) {
      const rows = await scene.poll({ limit, maxBytes: 2_500 })
      assert.deepEqual(seqsOf(rows), seqs.slice(0, 3))
      assert.deepEqual(
        rows.map(({ event }) => event?.payloadJson),
        events.slice(0, 3).map(({ payloadJson }) => payloadJson),
      )
      assert.ok(rows.reduce((sum, { bytes }) => sum + bytes, 0) >= 2_500)
      const rest = await scene.poll({ limit, maxBytes: 2_500, floor: seqs[2] ?? null })
      assert.deepEqual(seqsOf(rest), seqs.slice(3))
    }
  })

  test('I24 returns a row that is larger than the limit, alone', async (scene) => {
    const seqs = await scene.insert(sized(scene, 50_000, 10, 10))
    const rows = await scene.poll({ maxBytes: 100 })
    assert.deepEqual(seqsOf(rows), seqs.slice(0, 1))
    assert.equal(rows[0]?.event?.payloadJson.length, 50_000)
  })

  test('I24 returns every row if their sum is below the limit, large ones among small ones', async (scene) => {
    const sizes = [10, 9_000, 10, 10, 300]
    const events = sized(scene, ...sizes)
    await scene.insert(events)
    const rows = await scene.poll({ limit: 5, maxBytes: 20_000 })
    assert.deepEqual(
      rows.map(({ event }) => event?.payloadJson),
      events.map(({ payloadJson }) => payloadJson),
    )
  })

  test('I24 measures bytes of payload and headers, not characters', async (scene) => {
    const payloadJson = `"${'€'.repeat(100)}"`
    const plain = scene.event({ payloadJson })
    const withHeaders = scene.event({ payloadJson, headers: { note: 'n'.repeat(500) } })
    await scene.insert([plain, withHeaders])
    const [one, other] = await scene.poll()
    assert.ok(one !== undefined && other !== undefined)
    assert.ok(one.bytes >= 302 && one.bytes < 350, `${one.bytes}`)
    assert.ok(other.bytes >= 802 && other.bytes < 850, `${other.bytes}`)
    const [first, second] = await scene.poll({ limit: 2, maxBytes: 1_000 })
    assert.deepEqual([first?.event?.payloadJson, first?.event?.headers], [plain.payloadJson, plain.headers])
    assert.deepEqual([second?.event?.payloadJson, second?.event?.headers['note']], [payloadJson, 'n'.repeat(500)])
  })
}

function claimTests({ test }: OutboxSuite): void {
  test('I24 claims only the rows that it returns', async (scene) => {
    const events = sized(scene, 1_000, 10, 1_000, 1_000, 1_000)
    const seqs = await scene.insert(events)
    const mine = await scene.claim(leaseOf('a', 1n), { limit: 5, maxBytes: 2_000 })
    assert.deepEqual(seqsOf(mine), seqs.slice(0, 3))
    assert.deepEqual(
      mine.map(({ event }) => event?.payloadJson),
      events.slice(0, 3).map(({ payloadJson }) => payloadJson),
    )
    const theirs = await scene.claim(leaseOf('b', 1n), { limit: 5, maxBytes: 1 }, scene.other)
    assert.deepEqual(seqsOf(theirs), seqs.slice(3, 4))
    const rest = await scene.claim(leaseOf('b', 2n), { limit: 5 }, scene.other)
    assert.deepEqual(seqsOf(rest), seqs.slice(4))
  })

  test('I24 claims what its token holds and as much as fits behind it when it is repeated', async (scene) => {
    const seqs = await scene.insert(sized(scene, 1_000, 1_000, 1_000, 1_000))
    const lease = leaseOf('a', 1n)
    assert.deepEqual(seqsOf(await scene.claim(lease, { maxBytes: 2_000 })), seqs.slice(0, 2))
    assert.deepEqual(seqsOf(await scene.claim(lease, { maxBytes: 3_000 })), seqs.slice(0, 3))
  })

  test('I24 claims retries in the order in which they are due', async (scene) => {
    const seqs = await scene.insert(sized(scene, 1_000, 1_000, 1_000))
    for (const seq of seqs.toReversed()) {
      await scene.call((store, c) =>
        store.markRetry(c, [{ ...scene.row(seq), attempts: 1, delayMs: 0, error: 'e' }], noFence),
      )
      await scene.pass()
    }
    const claimed: bigint[] = []
    for (const version of [1n, 2n, 3n])
      claimed.push(...seqsOf(await scene.claim(leaseOf('a', version), { ...allDue, maxBytes: 1_000 })))
    assert.deepEqual(new Set(claimed), new Set(seqs))
    assert.equal(claimed.length, 3)
  })
}

function shardTests({ test }: OutboxSuite): void {
  test('I24 lets shards take turns, in the order of the query', async (scene) => {
    const [one, two] = keysOfTwoShards(scene)
    const payloadJson = `"${'x'.repeat(998)}"`
    const events = [one, one, one, two, two, two].map((aggregateId) => scene.event({ aggregateId, payloadJson }))
    const seqs = await scene.insert(events)
    const parts = [two, one].map((key): ShardPart => ({ shard: shardIn(scene, key), floor: null, without: [] }))
    const read = (maxBytes: number, limit: number) =>
      scene.call((store, c) => store.readShards(c, { shards: parts, limit, maxBytes }))
    for (const limit of [3, 100]) {
      const rows = await read(2_500, limit)
      assert.deepEqual(new Set(seqsOf(rows)), new Set([seqs[3], seqs[0], seqs[4]]))
      assert.ok(rows.every(({ event }) => event?.payloadJson === payloadJson))
      assert.deepEqual(seqsOf(await read(1, limit)), [seqs[3]])
      assert.equal((await read(1_000_000, limit)).length, 6)
    }
  })
}

function shardIn(scene: OutboxStoreScene, aggregateId: string): number {
  return shardOf(scene.event({ aggregateId }))
}

function keysOfTwoShards(scene: OutboxStoreScene): [string, string] {
  for (let n = 0; ; n++) if (shardIn(scene, `key-${n}`) !== shardIn(scene, 'key')) return ['key', `key-${n}`]
}
