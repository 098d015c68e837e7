import assert from 'node:assert/strict'
import type { ClaimedPartition } from '@waybill/core/internal'
import { until } from '../suite/until.ts'
import type { ProjectionSuite } from './projection-scene.ts'

const first = { topic: 'accounts', partition: 0 }
const second = { topic: 'accounts', partition: 1 }

/** Tests of positions. */
export function positionPart({ describe, test }: ProjectionSuite): void {
  describe('a position', () => {
    test('moves forward and never back', async (scene) => {
      const table = await scene.open()
      const advance = (next: bigint) => scene.store.transaction((tx) => tx.advance(table, [{ ...first, next }]))
      await advance(5n)
      await advance(3n)
      assert.deepEqual(await scene.other.positions(table), [{ ...first, next: 5n }])
      await advance(9_007_199_254_740_993n)
      assert.deepEqual(await scene.other.positions(table), [{ ...first, next: 9_007_199_254_740_993n }])
    })

    test('that is locked for the first time is 0', async (scene) => {
      const table = await scene.open()
      const locked = await scene.store.transaction((tx) => tx.lockPositions(table, [second, first]))
      assert.deepEqual(locked, [
        { ...first, next: 0n },
        { ...second, next: 0n },
      ])
    })

    test('belongs to one build', async (scene) => {
      const table = await scene.open()
      await scene.store.transaction((tx) => tx.advance(table, [{ ...first, next: 5n }]))
      assert.deepEqual(await scene.store.positions({ projection: 'account', number: 2 }), [])
    })

    test('that one transaction has locked is read by another one after it', async (scene) => {
      const table = await scene.open()
      await scene.store.transaction((tx) => tx.advance(table, [{ ...first, next: 1n }]))
      const count = (store: typeof scene.store) =>
        store.transaction(async (tx) => {
          const [position] = await tx.lockPositions(table, [first])
          await tx.advance(table, [{ ...first, next: (position?.next ?? 0n) + 1n }])
        })
      await Promise.all(scene.subject.stores.flatMap((store) => [count(store), count(store), count(store)]))
      assert.deepEqual(await scene.store.positions(table), [{ ...first, next: 7n }])
    })
  })

  describe('a lease', () => {
    test('has one holder, and the others get other partitions', async (scene) => {
      const table = await scene.open()
      await scene.store.transaction((tx) => tx.lockPositions(table, [first, second]))
      const claims = await Promise.all(
        scene.subject.stores.map((store, index) => store.claim(table, `w${index}`, 60_000)),
      )
      const more = await scene.other.claim(table, 'w3', 60_000)
      const found = [...claims, more].filter((one) => one !== null)
      // One of two claims at the same moment may find the partition taken, and get the other one at its next attempt.
      assert.deepEqual(
        found.map(({ partition }) => partition).toSorted((a, b) => a - b),
        [0, 1],
      )
      assert.ok(found.every(({ epoch, next }) => epoch === 1 && next === 0n))
      assert.equal(await scene.store.claim(table, 'w4', 60_000), null)
    })

    test('that has expired is claimed by another worker, and its holder writes nothing more', async (scene) => {
      const table = await scene.open()
      await scene.store.transaction((tx) => tx.lockPositions(table, [first]))
      const before = await scene.store.claim(table, 'one', 1)
      assert.ok(before !== null)
      const after = await until(
        scene.subject.runtime,
        () => scene.other.claim(table, 'other', 60_000),
        (claimed) => claimed !== null,
      )
      assert.ok(after !== null)
      assert.equal(after.epoch, before.epoch + 1)
      const advance = (claimed: typeof after) =>
        scene.store.transaction((tx) => tx.advanceClaimed(table, claimed, 5n, 60_000))
      assert.equal(await advance(before), false)
      assert.equal(await advance(after), true)
      assert.deepEqual(await scene.store.positions(table), [{ ...first, next: 5n }])
    })

    test('is replaced by a claim of its own holder, whose earlier one writes nothing more', async (scene) => {
      const table = await scene.open()
      await scene.store.transaction((tx) => tx.lockPositions(table, [first]))
      const [before, after] = [
        await scene.store.claim(table, 'one', 60_000),
        await scene.store.claim(table, 'one', 60_000),
      ]
      assert.ok(before !== null && after !== null)
      assert.deepEqual([before.epoch, after.epoch], [1, 2])
      assert.equal(await scene.store.transaction((tx) => tx.advanceClaimed(table, before, 0n, 60_000)), false)
    })

    test('moves its position only from where it was claimed: it may have moved on since', async (scene) => {
      const table = await scene.open()
      await scene.store.transaction((tx) => tx.lockPositions(table, [first]))
      const claimed = await scene.store.claim(table, 'one', 60_000)
      assert.ok(claimed !== null)
      await scene.store.transaction((tx) => tx.advance(table, [{ ...first, next: 5n }]))
      const advance = (from: ClaimedPartition, next: bigint): Promise<boolean> =>
        scene.store.transaction((tx) => tx.advanceClaimed(table, from, next, 0))
      for (const next of [0n, 3n, 7n]) assert.equal(await advance(claimed, next), false)
      assert.deepEqual(await scene.store.positions(table), [{ ...first, next: 5n }])
      const moved: ClaimedPartition = { ...claimed, next: 5n }
      assert.equal(await advance(moved, 7n), true)
      assert.equal(await advance(moved, 9n), false)
      assert.deepEqual(await scene.store.positions(table), [{ ...first, next: 7n }])
    })

    test('is renewed by each advance', async (scene) => {
      const table = await scene.open()
      await scene.store.transaction((tx) => tx.lockPositions(table, [first]))
      const claimed = await scene.store.claim(table, 'one', 60_000)
      assert.ok(claimed !== null)
      await scene.store.transaction((tx) => tx.advanceClaimed(table, claimed, 1n, 60_000))
      assert.equal(await scene.other.claim(table, 'other', 60_000), null)
    })
  })
}
