import assert from 'node:assert/strict'
import { type DeadLetterIndexSuite, everything, largeOffset, letter, moved, refOf } from './dead-letter-index-scene.ts'

/** Declares the tests of filling an index. */
export function fillPart({ describe, test }: DeadLetterIndexSuite): void {
  describe('filling', () => {
    test('keeps every member of a dead letter', async ({ index, other }) => {
      const full = letter(1)
      const bare = letter(2, {
        binding: undefined,
        consumerGroup: undefined,
        originalTopic: '',
        originalPartition: -1,
        originalOffset: -1n,
        originalAtMs: undefined,
        message: '',
        frame: undefined,
        eventType: undefined,
        eventId: undefined,
        key: undefined,
        traceId: undefined,
        reason: 'MANUAL',
      })
      assert.equal(await index.put([full, bare], []), true)
      assert.deepEqual(await other.get(refOf(full)), full)
      assert.deepEqual(await other.get(refOf(bare)), bare)
      assert.equal(await other.get({ ...refOf(full), partition: 9 }), undefined)
    })

    test('keeps texts of any language', async ({ index, other }) => {
      const odd = letter(1, { message: "L'été \\ 'x' \"y\" % _ ! 日本 🚚", key: '🚚%_\\', exception: 'Ошибка' })
      await index.put([odd], [])
      assert.deepEqual(await other.get(refOf(odd)), odd)
    })

    test('moves positions with the dead letters', async ({ index, other }) => {
      const end = largeOffset + 2n
      await index.put([letter(1)], [moved(undefined, end), moved(undefined, 7n, { partition: 1 })])
      assert.deepEqual(await other.positions('default', 'orders.DLT'), [
        { cluster: 'default', topic: 'orders.DLT', partition: 0, rule: '1', next: end },
        { cluster: 'default', topic: 'orders.DLT', partition: 1, rule: '1', next: 7n },
      ])
      assert.deepEqual(await other.positions('default', 'mails.DLT'), [])
      assert.deepEqual(await other.positions('east', 'orders.DLT'), [])
    })

    test('changes nothing if another reader moved a position', async ({ index, other }) => {
      assert.equal(await index.put([letter(1)], [moved(undefined, 10n)]), true)
      assert.equal(await other.put([letter(2)], [moved(undefined, 20n)]), false)
      assert.equal(await other.put([letter(2)], [moved(undefined, 5n, { partition: 1 }), moved(9n, 20n)]), false)
      assert.equal(await other.put([letter(2)], [moved(10n, 20n)]), true)
      assert.equal(await index.put([letter(3)], [moved(10n, 20n)]), false)
      assert.deepEqual(
        (await index.positions('default', 'orders.DLT')).map(({ partition, next }) => [partition, next]),
        [[0, 20n]],
      )
      assert.equal((await index.query({}, everything)).items.length, 2)
    })

    test('is won by one of two readers that begin at once', async ({ index, other }) => {
      const results = await Promise.all([
        index.put([letter(1)], [moved(undefined, 10n)]),
        other.put([letter(2)], [moved(undefined, 11n)]),
      ])
      assert.equal(results.filter(Boolean).length, 1)
    })

    test('begins again under another rule, and keeps the states', async ({ index, other }) => {
      await index.put([letter(1)], [moved(undefined, 10n)])
      await index.mark([refOf(letter(1))], ['OPEN'], 'RESOLVED', 'op_1')
      const grouped = letter(1, { group: 'b2' })
      assert.equal(await other.put([grouped], [moved(10n, 20n, { rule: '2' })]), false)
      assert.equal(await other.put([grouped], [moved(undefined, 5n, { rule: '2' })]), true)
      assert.deepEqual(await index.get(refOf(grouped)), { ...grouped, state: 'RESOLVED', operation: 'op_1' })
      const { items } = await index.groups({}, 'COUNT', everything)
      assert.deepEqual(
        items.map(({ group, count }) => [group, count]),
        [['b2', 1n]],
      )
    })

    test('counts a dead letter once, however often it is added', async ({ index, other }) => {
      await Promise.all([index.put([letter(1), letter(2)], []), other.put([letter(2), letter(3)], [])])
      await index.put([letter(1), letter(1)], [])
      const { items } = await other.groups({}, 'COUNT', everything)
      assert.equal(items[0]?.count, 3n)
    })

    test('is forgotten below the start of the log', async ({ index, other }) => {
      await index.put([letter(1), letter(2), letter(3), letter(3, { partition: 1 })], [])
      const partition = { cluster: 'default', topic: 'orders.DLT', partition: 0 }
      assert.equal(await index.forget(partition, largeOffset + 3n), 2)
      assert.equal(await index.forget(partition, largeOffset + 3n), 0)
      assert.equal((await other.query({}, everything)).items.length, 2)
      const [group] = (await other.groups({}, 'COUNT', everything)).items
      assert.deepEqual([group?.count, group?.firstAtMs], [2n, letter(3).deadAtMs])
    })

    test('starts again after a reset of its topic', async ({ index, other }) => {
      await index.put([letter(1), letter(2, { topic: 'mails.DLT' })], [moved(undefined, 10n)])
      await index.reset('default', 'orders.DLT')
      assert.deepEqual(await other.positions('default', 'orders.DLT'), [])
      assert.deepEqual(
        (await other.query({}, everything)).items.map(({ topic }) => topic),
        ['mails.DLT'],
      )
      assert.equal((await other.groups({}, 'COUNT', everything)).items[0]?.count, 1n)
      assert.equal(await other.put([letter(1)], [moved(10n, 20n)]), false)
      assert.equal(await other.put([letter(1)], [moved(undefined, 20n)]), true)
    })
  })
}
