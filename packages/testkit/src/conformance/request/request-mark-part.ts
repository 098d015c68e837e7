import assert from 'node:assert/strict'
import { until } from '../suite/until.ts'
import { longTtlMs, type RequestSuite, shortTtlMs } from './request-scene.ts'

/** Names and marks that a careless store confuses. */
const confusable: readonly (readonly [title: string, one: string, other: string])[] = [
  ['case', 'Order-1', 'order-1'],
  ['a space at the end', 'order-1', 'order-1 '],
  ['how a letter is composed', '\u00e9', 'e\u0301'],
  ['the last of 1,600 bytes', `${'x'.repeat(1_599)}a`, `${'x'.repeat(1_599)}b`],
]

/** Tests of marks. */
export function requestMarkPart({ describe, test }: RequestSuite): void {
  describe('a mark of a request', () => {
    test('is absent until it is set, and is read by every node as it was set', async ({ store, other }) => {
      assert.equal(await store.read('order-1'), null)
      const mark = '{"text":"…\u{1f680}"}'
      assert.equal(await store.compareAndSet('order-1', null, mark, longTtlMs), true)
      for (const node of [store, other]) assert.equal(await node.read('order-1'), mark)
    })

    test('is set where none is, and left alone where one is', async ({ store, other }) => {
      assert.equal(await store.compareAndSet('order-1', null, 'first', longTtlMs), true)
      for (const node of [store, other])
        assert.equal(await node.compareAndSet('order-1', null, 'second', longTtlMs), false)
      assert.equal(await other.read('order-1'), 'first')
    })

    test('is set by one of many at once', async ({ store, other }) => {
      const marks = Array.from({ length: 12 }, (_, index) => `mark-${index}`)
      const answers = await Promise.all(
        marks.map((mark, index) => (index % 2 === 0 ? store : other).compareAndSet('order-1', null, mark, longTtlMs)),
      )
      const winners = marks.filter((_, index) => answers[index])
      assert.deepEqual([await store.read('order-1')], winners)
    })

    test('is replaced by comparison, once', async ({ store, other }) => {
      await store.compareAndSet('order-1', null, 'running', longTtlMs)
      assert.equal(await other.compareAndSet('order-1', 'another', 'done', longTtlMs), false)
      assert.equal(await other.compareAndSet('order-1', 'running', 'done', longTtlMs), true)
      assert.equal(await store.compareAndSet('order-1', 'running', 'late', longTtlMs), false)
      assert.equal(await store.compareAndSet('order-2', 'running', 'done', longTtlMs), false)
      assert.equal(await store.read('order-1'), 'done')
      assert.equal(await store.read('order-2'), null)
    })

    test('is deleted by comparison, and may be set again', async ({ store, other }) => {
      await store.compareAndSet('order-1', null, 'running', longTtlMs)
      assert.equal(await other.compareAndDelete('order-1', 'another'), false)
      assert.equal(await store.read('order-1'), 'running')
      assert.equal(await other.compareAndDelete('order-1', 'running'), true)
      assert.equal(await store.compareAndDelete('order-1', 'running'), false)
      assert.equal(await store.read('order-1'), null)
      assert.equal(await store.compareAndSet('order-1', null, 'again', longTtlMs), true)
    })

    test('is gone when its time is over: one of many sets it anew', async ({ store, other, subject }) => {
      await store.compareAndSet('order-1', null, 'crashed', shortTtlMs)
      await until(
        subject.runtime,
        () => other.read('order-1'),
        (mark) => mark === null,
      )
      assert.equal(await store.compareAndSet('order-1', 'crashed', 'done', longTtlMs), false)
      const answers = await Promise.all(
        [store, other, store, other].map((node, index) =>
          node.compareAndSet('order-1', null, `heir-${index}`, longTtlMs),
        ),
      )
      assert.equal(answers.filter(Boolean).length, 1)
      assert.equal(await store.read('order-1'), `heir-${answers.indexOf(true)}`)
    })

    test('lives as long as its replacement says', async ({ store, subject }) => {
      await store.compareAndSet('order-1', null, 'running', longTtlMs)
      assert.equal(await store.compareAndSet('order-1', 'running', 'done', shortTtlMs), true)
      await until(
        subject.runtime,
        () => store.read('order-1'),
        (mark) => mark === null,
      )
    })

    test('holds 64,000 bytes', async ({ store }) => {
      const [one, other] = ['a', 'b'].map((last) => 'x'.repeat(63_999) + last) as [string, string]
      await store.compareAndSet('order-1', null, one, longTtlMs)
      assert.equal(await store.compareAndSet('order-1', other, 'done', longTtlMs), false)
      assert.equal(await store.read('order-1'), one)
      assert.equal(await store.compareAndSet('order-1', one, 'done', longTtlMs), true)
    })

    for (const [title, one, other] of confusable) {
      test(`is exact: names and marks that differ in ${title} are two`, async ({ store }) => {
        assert.equal(await store.compareAndSet(one, null, one, longTtlMs), true)
        assert.equal(await store.read(other), null)
        assert.equal(await store.compareAndSet(one, other, 'done', longTtlMs), false)
        assert.equal(await store.compareAndDelete(one, other), false)
        assert.equal(await store.compareAndSet(other, null, other, longTtlMs), true)
      })
    }
  })
}
