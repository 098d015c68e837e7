import assert from 'node:assert/strict'
import type { MarkSuite } from './mark-scene.ts'

/** Pairs that a careless store confuses. */
const confusable: readonly (readonly [title: string, one: string, other: string])[] = [
  ['case', 'Order-1', 'order-1'],
  ['a space at the end', 'order-1', 'order-1 '],
  ['an accent', 'resume', 'résumé'],
  ['how a letter is composed', '\u00e9', 'e\u0301'],
  ['the last of 1,000 characters', `${'x'.repeat(999)}a`, `${'x'.repeat(999)}b`],
  ['being a number', '1', '01'],
]

/** Tests of marks. */
export function markPart({ describe, test }: MarkSuite): void {
  describe('a mark', () => {
    test('is not there before it is made', async ({ subject }) => {
      assert.equal(await subject.stores[0].seen('shipping', 'event-1'), false)
    })

    test('is seen by every node once it is made', async ({ subject }) => {
      await subject.stores[0].mark('shipping', 'event-1')
      for (const store of subject.stores) assert.equal(await store.seen('shipping', 'event-1'), true)
    })

    test('may be made again, by any node and at the same time', async (scene) => {
      const [one, other] = scene.subject.stores
      const markers = Array.from({ length: 10 }, (_, index) => (index % 2 === 0 ? one : other))
      await Promise.all(markers.map((store) => scene.untilAnswered(() => store.mark('shipping', 'event-1'))))
      assert.equal(await scene.subject.stores[1].seen('shipping', 'event-1'), true)
    })

    test("is one consumer's alone", async ({ subject: { stores } }) => {
      await stores[0].mark('shipping', 'event-1')
      assert.equal(await stores[0].seen('billing', 'event-1'), false)
    })

    test('does not stand for another pair with the same letters', async ({ subject: { stores } }) => {
      await stores[0].mark('a:b', 'c')
      assert.equal(await stores[0].seen('a', 'b:c'), false)
      await stores[0].mark('1', '1:x')
      assert.equal(await stores[0].seen('1:1', 'x'), false)
    })

    test('is exact in its consumer too', async ({ subject: { stores } }) => {
      await stores[0].mark('Shipping', 'event-1')
      for (const consumer of ['shipping', 'Shipping ', 'Shípping']) {
        assert.equal(await stores[0].seen(consumer, 'event-1'), false)
      }
    })

    for (const [title, one, other] of confusable) {
      test(`is exact: keys that differ in ${title} are two`, async ({ subject: { stores } }) => {
        await stores[0].mark('shipping', one)
        assert.equal(await stores[0].seen('shipping', other), false)
        assert.equal(await stores[0].seen('shipping', one), true)
      })
    }
  })
}
