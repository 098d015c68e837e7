import assert from 'node:assert/strict'
import { type DeadLetterIndexSuite, everything, letter, refOf } from './dead-letter-index-scene.ts'

/** Declares the tests of states. */
export function statePart({ describe, test }: DeadLetterIndexSuite): void {
  const refs = [1, 2, 3].map((no) => refOf(letter(no)))
  const [first, second, third] = refs as [(typeof refs)[0], (typeof refs)[0], (typeof refs)[0]]

  describe('a state', () => {
    test('changes only from the given ones, and names the operation', async ({ index, other }) => {
      await index.put([letter(1), letter(2, { state: 'RESOLVED' })], [])
      assert.deepEqual(await index.mark(refs, ['OPEN'], 'REPLAYED', 'op_1'), [first])
      const { state, operation } = (await other.get(first)) ?? {}
      assert.deepEqual([state, operation], ['REPLAYED', 'op_1'])
      assert.equal((await other.get(second))?.state, 'RESOLVED')
      assert.equal(await other.get(third), undefined)
    })

    test('is marked again by the same operation, and by no other', async ({ index, other }) => {
      await index.put([letter(1), letter(2)], [])
      await index.mark([first], ['OPEN'], 'REPLAYED', 'op_1')
      assert.deepEqual(await other.mark([first, second], ['OPEN'], 'REPLAYED', 'op_1'), [first, second])
      assert.deepEqual(await other.mark([first, second], ['OPEN'], 'REPLAYED', 'op_2'), [])
    })

    test('goes back to OPEN', async ({ index, other }) => {
      await index.put([letter(1)], [])
      await index.mark([first], ['OPEN'], 'REPLAYED', 'op_1')
      assert.deepEqual(await index.mark([first], ['REPLAYED'], 'OPEN', undefined), [first])
      assert.deepEqual(await other.get(first), letter(1))
    })

    test('is changed by one of two operations at once', async ({ index, other }) => {
      const letters = Array.from({ length: 30 }, (_, at) => letter(at))
      await index.put(letters, [])
      const all = letters.map(refOf)
      const [one, two] = await Promise.all([
        index.mark(all, ['OPEN'], 'REPLAYED', 'op_1'),
        other.mark(all.toReversed(), ['OPEN'], 'REPLAYED', 'op_2'),
      ])
      assert.equal(one.length + two.length, letters.length)
      assert.equal(new Set([...one, ...two].map(({ offset }) => offset)).size, letters.length)
    })

    test('counts in groups and facets', async ({ index, other }) => {
      await index.put([letter(1), letter(2), letter(3)], [])
      await index.mark([first], ['OPEN'], 'REPLAYED', 'op_1')
      await index.mark([second], ['OPEN'], 'FAILED_AGAIN', 'op_1')
      const [group] = (await other.groups({}, 'COUNT', everything)).items
      assert.deepEqual([group?.count, group?.replayed, group?.failedAgain], [3n, 2n, 1n])
      const [open] = (await other.groups({ states: ['OPEN'] }, 'COUNT', everything)).items
      assert.deepEqual([open?.count, open?.firstAtMs], [1n, letter(3).deadAtMs])
      const { state } = await other.facets({}, ['state'])
      assert.deepEqual(
        state?.values.map(({ value, count }) => [value, count]),
        [
          ['FAILED_AGAIN', 1n],
          ['OPEN', 1n],
          ['REPLAYED', 1n],
        ],
      )
    })

    test('is FAILED_AGAIN once the copy is a dead letter', async ({ index, other }) => {
      await index.put([letter(1), letter(2)], [])
      await index.mark([first, second], ['OPEN'], 'REPLAYED', 'op_1')
      const copy = letter(9, { originalOffset: letter(1).originalOffset, replayCount: 1 })
      const foreign = letter(10, { originalOffset: letter(2).originalOffset, replayCount: 1, consumerGroup: 'billing' })
      await index.put([copy, foreign], [])
      const { state, operation } = (await other.get(first)) ?? {}
      assert.deepEqual([state, operation], ['FAILED_AGAIN', 'op_1'])
      assert.equal((await other.get(second))?.state, 'REPLAYED')
      assert.equal((await other.get(refOf(copy)))?.state, 'OPEN')
    })
  })
}
