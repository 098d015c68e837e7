import assert from 'node:assert/strict'
import type { EarlierPart, EarlierRow, OpenNumbers } from '@waybill/outbox/internal'
import { longMs, noFence, type OutboxStoreScene, type OutboxSuite } from './outbox-store-scene.ts'
import { inShard, ofKey } from './shard-part.ts'

/** Tests of rows that become visible after rows with higher numbers: finding them, and knowing that there are none. */
export function lateCommitPart(suite: OutboxSuite): void {
  suite.describe('a look below a read of shards', () => earlierTests(suite))
  suite.describe('numbers that were given', () => numberTests(suite))
}

function find(scene: OutboxStoreScene, parts: readonly EarlierPart[]): Promise<EarlierRow[]> {
  return scene.call((store, c) => store.earlierRows(c, parts))
}

function look(scene: OutboxStoreScene, above = 0n): Promise<OpenNumbers | null> {
  return scene.other.connection((connection) => scene.store.openNumbers(connection, above))
}

function earlierTests({ test }: OutboxSuite): void {
  const key = { aggregateType: 'order', aggregateId: `it's "late", {very}\\` }

  test('finds the first pending row of the keys up to the floor, of each shard', async (scene) => {
    const one = await ofKey(scene, key.aggregateId, 3)
    const two = await ofKey(scene, 'two', 2)
    assert.notEqual(one.shard, two.shard)
    const [first = 0n, second = 0n, third = 0n] = one.seqs
    const part = { shard: one.shard, above: null, upTo: third, keys: [key], except: [] }
    const other = {
      shard: two.shard,
      above: null,
      upTo: two.seqs[0] as bigint,
      keys: [{ ...key, aggregateId: 'two' }],
      except: [],
    }
    const found = await find(scene, [part, other])
    assert.deepEqual(
      new Map(found.map(({ shard, seq }) => [shard, seq])),
      new Map([
        [one.shard, first],
        [two.shard, two.seqs[0]],
      ]),
    )
    await scene.call((store, c) => store.markDone(c, [scene.row(first)], noFence, { whenDone: 'KEEP' }))
    assert.deepEqual(await find(scene, [part]), [{ shard: one.shard, seq: second }])
    assert.deepEqual(await find(scene, [{ ...part, except: [second] }]), [{ shard: one.shard, seq: third }])
    assert.deepEqual(await find(scene, [{ ...part, upTo: second, except: [second] }]), [])
    assert.deepEqual(await find(scene, [{ ...part, above: second }]), [{ shard: one.shard, seq: third }])
    assert.deepEqual(await find(scene, [{ ...part, above: third }]), [])
  })

  test('passes other keys of the shard, and rows without one', async (scene) => {
    const one = await ofKey(scene, key.aggregateId, 1)
    const seqs = await scene.insert([...(await inShard(scene, one.shard)), scene.event({ aggregateId: null })])
    const part = { shard: one.shard, above: null, upTo: seqs.at(-1) as bigint, except: one.seqs }
    const others = [
      { aggregateType: 'parcel', aggregateId: key.aggregateId },
      { aggregateType: 'order', aggregateId: 'unknown' },
    ]
    assert.deepEqual(await find(scene, [{ ...part, keys: [key, ...others] }]), [])
    assert.deepEqual(await find(scene, [{ ...part, keys: others, except: [] }]), [])
  })

  test('shows a row that waits for its time', async (scene) => {
    const { shard, seqs } = await ofKey(scene, key.aggregateId, 1)
    const rows = seqs.map((seq) => ({ ...scene.row(seq), attempts: 1, delayMs: longMs, error: 'e' }))
    await scene.call((store, c) => store.markRetry(c, rows, noFence))
    const part = { shard, above: null, upTo: seqs[0] as bigint, keys: [key], except: [] }
    assert.deepEqual(await find(scene, [part]), [{ shard, seq: seqs[0] }])
  })

  test('may be below none', async (scene) => {
    assert.deepEqual(await find(scene, []), [])
  })
}

function numberTests({ test, testWith }: OutboxSuite): void {
  test('are reported up to the highest visible one, and none is open while nothing is written', async (scene) => {
    const before = await look(scene)
    const seqs = await scene.fill(3)
    const last = seqs.at(-1) as bigint
    for (const above of [0n, seqs[0] as bigint, last]) {
      const now = await look(scene, above)
      assert.deepEqual(now, before === null ? null : { given: last, writers: [], server: before.server })
    }
  })

  testWith('OPEN_NUMBERS', 'have an owner until his transaction ends', async (scene) => {
    const { promise: mayEnd, resolve: end } = Promise.withResolvers<void>()
    const { promise: written, resolve: wrote } = Promise.withResolvers<void>()
    const open = scene.one.transaction(async (connection) => {
      await scene.store.insertNew(connection, [scene.event()], { lease: null, availableAt: null })
      wrote()
      await mayEnd
    })
    await written
    const [later = 0n] = await scene.fill(1)
    const during = await look(scene)
    assert.ok(during !== null && during.given >= later)
    assert.equal(during.writers.length, 1)
    assert.deepEqual((await look(scene))?.writers, during.writers)
    end()
    await open
    assert.deepEqual((await look(scene))?.writers, [])
  })
}
