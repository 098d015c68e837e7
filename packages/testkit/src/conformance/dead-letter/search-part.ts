import assert from 'node:assert/strict'
import type { DeadLetterFilter, IndexedDeadLetter } from '@waybill/core/internal'
import { type DeadLetterIndexSuite, everything, hour, letter, noon } from './dead-letter-index-scene.ts'

/** One dead letter that no filter of the table selects, then one that differs in each member. */
const usual = letter(0)
const others: readonly (readonly [Partial<IndexedDeadLetter>, DeadLetterFilter])[] = [
  [{ cluster: 'east' }, { cluster: 'east' }],
  [{ topic: 'mails.DLT' }, { topic: 'mails.DLT' }],
  [{ binding: 'mail' }, { binding: 'mail' }],
  [{ binding: 'audit' }, { bindings: ['audit', 'none'] }],
  [{ group: 'b2' }, { group: 'b2' }],
  [{ eventType: 'order.paid' }, { eventType: 'order.paid' }],
  [{ exception: 'ZodError' }, { exception: 'ZodError' }],
  [{ reason: 'MANUAL' }, { reason: 'MANUAL' }],
  [{ state: 'RESOLVED' }, { states: ['RESOLVED', 'IGNORED'] }],
  [{ key: 'customer-17' }, { key: 'customer-17' }],
  [{ key: 'buyer-🚚' }, { key: 'buyer-*' }],
  [{ deadAtMs: noon + 5 * hour }, { sinceMs: noon + 4 * hour }],
  [{ deadAtMs: noon - 5 * hour }, { untilMs: noon - 4 * hour }],
  [{ attempts: 13 }, { minAttempts: 13 }],
  [{ replayCount: 2 }, { replayCount: 2 }],
  [{ traceId: '0af7'.repeat(8) }, { traceId: '0af7'.repeat(8) }],
  [{ message: 'No ROUTE to 100% of_hosts' }, { text: 'route to 100% OF_h' }],
  [{ key: 'Depot-9' }, { text: 'depot-9' }],
  [{ originalOffset: 77n }, { original: { topic: 'orders', partition: 1, offset: 77n } }],
  [{ operation: 'op_7' }, { operation: 'op_7' }],
  [{ eventId: '01KD' }, { eventId: '01KD' }],
]
const all = [usual, ...others.map(([given], at) => letter(at + 1, given))]

/** Declares the tests of lists, groups and facets. */
export function searchPart(suite: DeadLetterIndexSuite): void {
  listPart(suite)
  groupPart(suite)
  facetPart(suite)
}

function listPart({ describe, test }: DeadLetterIndexSuite): void {
  describe('a list', () => {
    for (const [at, [, filter]] of others.entries())
      test(`selects by ${JSON.stringify(filter, (_, value) => (typeof value === 'bigint' ? String(value) : value))}`, async (scene) => {
        await scene.add(...all)
        assert.deepEqual(await scene.select(filter), [at + 1])
        const { total } = await scene.index.query(filter, everything)
        assert.deepEqual(total, { count: 1n, isExact: true })
        const { items } = await scene.index.groups(filter, 'COUNT', everything)
        assert.deepEqual(
          items.map(({ group, count }) => [group, count]),
          [[all[at + 1]?.group, 1n]],
        )
        const { state } = await scene.index.facets(filter, ['state'])
        assert.deepEqual(state, { values: [{ value: all[at + 1]?.state, count: 1n }], other: 0n })
      })

    test('selects nothing by a text that looks like a pattern', async (scene) => {
      await scene.add(...all)
      assert.deepEqual(await scene.select({ text: '%' }), [17])
      assert.deepEqual(await scene.select({ text: "' OR 1 = 1 --" }), [])
      assert.deepEqual(await scene.select({ key: '%*' }), [])
      assert.deepEqual(await scene.select({ states: [] }), [])
    })

    test('is in pages, the newest first, whatever dies meanwhile', async (scene) => {
      await scene.add(...Array.from({ length: 5 }, (_, at) => letter(at + 1, { deadAtMs: noon })))
      await scene.add(letter(6, { deadAtMs: noon, partition: 1 }), letter(7, { deadAtMs: noon, topic: 'a.DLT' }))
      const first = await scene.index.query({}, { limit: 3 })
      assert.equal(first.total?.count, 7n)
      await scene.add(letter(9))
      const second = await scene.index.query({}, { limit: 3, cursor: first.next ?? undefined })
      const third = await scene.index.query({}, { limit: 3, cursor: second.next ?? undefined })
      const numbers = [first, second, third].map(({ items }) => items.map(({ eventId }) => eventId))
      assert.deepEqual(numbers, [['e-6', 'e-5', 'e-4'], ['e-3', 'e-2', 'e-1'], ['e-7']])
      assert.equal(third.next, null)
    })

    test('of one record is its history', async (scene) => {
      const original = { topic: 'orders', partition: 1, offset: 1_001n }
      await scene.add(letter(1), letter(2), letter(3, { originalOffset: 1_001n, replayCount: 1 }))
      assert.deepEqual(await scene.select({ original }), [3, 1])
    })
  })
}

function groupPart({ describe, test }: DeadLetterIndexSuite): void {
  describe('failure groups', () => {
    test('have counts, times and the newest dead letter', async (scene) => {
      const newest = letter(9, { deadAtMs: noon + 2 * hour, message: '503 from shipping-api', binding: 'mail' })
      await scene.add(letter(1), newest, letter(5), letter(3, { group: 'b2' }))
      const { items, next, total } = await scene.other.groups({}, 'COUNT', everything)
      assert.deepEqual([items.length, next, total], [2, null, { count: 2n, isExact: true }])
      assert.deepEqual(items[0], {
        group: 'a1',
        state: 'OPEN',
        note: undefined,
        by: undefined,
        count: 3n,
        firstAtMs: noon + 1,
        lastAtMs: noon + 2 * hour,
        binding: 'mail',
        eventType: 'order.placed',
        exception: 'HttpError',
        message: '503 from shipping-api',
        frame: 'src/shipping.ts',
        sample: { cluster: 'default', topic: 'orders.DLT', partition: 0, offset: newest.offset },
        replayed: 0n,
        failedAgain: 0n,
      })
    })

    test('are sorted by count, first and last death, in pages', async (scene) => {
      await scene.add(letter(1), letter(2), letter(3))
      await scene.add(letter(10, { group: 'b2' }), letter(20, { group: 'b2' }))
      await scene.add(letter(5, { group: 'c3' }), letter(30, { group: 'c3' }))
      const orders = { COUNT: ['a1', 'b2', 'c3'], FIRST: ['b2', 'c3', 'a1'], LAST: ['c3', 'b2', 'a1'] } as const
      for (const [order, expected] of Object.entries(orders) as [keyof typeof orders, readonly string[]][]) {
        const first = await scene.index.groups({}, order, { limit: 2 })
        const second = await scene.index.groups({}, order, { limit: 2, cursor: first.next ?? undefined })
        assert.deepEqual(
          [...first.items, ...second.items].map(({ group }) => group),
          expected,
        )
        assert.equal(second.next, null)
      }
    })

    test('count by the hour in which their dead letters died', async (scene) => {
      const fromHour = Math.floor(noon / hour)
      const mail = { binding: 'mail', deadAtMs: noon + 2 * hour }
      await scene.add(
        letter(1, { deadAtMs: noon - 1 }),
        letter(2, { deadAtMs: noon }),
        letter(3, { deadAtMs: noon + 1 }),
      )
      await scene.add(letter(4, mail), letter(5, { ...mail, group: 'b2' }), letter(6, { group: 'c3' }))
      const counted = async (bindings: readonly string[] | undefined, ...groups: readonly string[]) =>
        ((await scene.other.groupHours?.({ bindings }, groups, fromHour)) ?? [])
          .map(({ group, hour: at, count }) => `${group} ${at - fromHour} ${count}`)
          .toSorted()
      assert.deepEqual(await counted(undefined, 'a1', 'b2'), ['a1 0 2', 'a1 2 1', 'b2 2 1'])
      assert.deepEqual(await counted(['mail', 'none'], 'a1', 'b2'), ['a1 2 1', 'b2 2 1'])
      assert.deepEqual([await counted([], 'a1'), await counted(undefined)], [[], []])
    })

    test('count within a window, to the millisecond', async (scene) => {
      const times = [-1, 0, 1, hour - 1, hour, hour + 1, 2 * hour, 3 * hour, 3 * hour + 1]
      await scene.add(...times.map((ms, at) => letter(at, { deadAtMs: noon + ms })))
      for (const sinceMs of [undefined, ...times.map((ms) => noon + ms)])
        for (const untilMs of [undefined, ...times.map((ms) => noon + ms)]) {
          const expected = times.filter((ms) => noon + ms >= (sinceMs ?? 0) && noon + ms < (untilMs ?? Infinity))
          const { items } = await scene.index.groups({ sinceMs, untilMs }, 'COUNT', { limit: 1 })
          const shown = items.map(({ count, firstAtMs, lastAtMs }) => [count, firstAtMs - noon, lastAtMs - noon])
          const wanted = expected.length === 0 ? [] : [[BigInt(expected.length), expected[0], expected.at(-1)]]
          assert.deepEqual(shown, wanted)
        }
    })

    test('are triaged, and open again when a resolved one has a newer dead letter', async ({ index, other, clock }) => {
      const now = clock.now()
      await index.put([letter(1, { deadAtMs: now - 1_000 }), letter(2, { deadAtMs: now - 1_000, group: 'b2' })], [])
      const triage = async () => {
        const { items } = await other.groups({}, 'COUNT', everything)
        return Object.fromEntries(items.map(({ group, state, note, by }) => [group, [state, note, by]]))
      }
      await index.annotate('a1', { state: 'RESOLVED', note: 'fixed in 1.8.2' }, 'ana')
      await index.annotate('b2', { state: 'IGNORED' }, 'ben')
      await index.annotate('b2', { note: 'known' }, 'eve')
      assert.deepEqual(await triage(), { a1: ['RESOLVED', 'fixed in 1.8.2', 'ana'], b2: ['IGNORED', 'known', 'eve'] })
      const later = clock.now() + 60_000
      await index.put([letter(3, { deadAtMs: later }), letter(4, { deadAtMs: later, group: 'b2' })], [])
      await index.annotate('a1', { note: null }, 'eve')
      assert.deepEqual(await triage(), { a1: ['OPEN', undefined, 'eve'], b2: ['IGNORED', 'known', 'eve'] })
    })
  })
}

function facetPart({ describe, test }: DeadLetterIndexSuite): void {
  describe('facets', () => {
    test('count each value, the most frequent first', async (scene) => {
      await scene.add(letter(1), letter(2), letter(3, { eventType: undefined, exception: 'ZodError' }))
      assert.deepEqual(await scene.other.facets({}, ['eventType', 'exception', 'binding', 'reason', 'state']), {
        eventType: {
          values: [
            { value: 'order.placed', count: 2n },
            { value: '', count: 1n },
          ],
          other: 0n,
        },
        exception: {
          values: [
            { value: 'HttpError', count: 2n },
            { value: 'ZodError', count: 1n },
          ],
          other: 0n,
        },
        binding: { values: [{ value: 'shipping', count: 3n }], other: 0n },
        reason: { values: [{ value: 'RETRIES_EXHAUSTED', count: 3n }], other: 0n },
        state: { values: [{ value: 'OPEN', count: 3n }], other: 0n },
      })
    })

    test('have 50 values, and the sum of the others', async (scene) => {
      await scene.add(...Array.from({ length: 53 }, (_, at) => letter(at, { exception: `E${at}` })))
      await scene.add(letter(100, { exception: 'E7' }))
      const { exception } = await scene.other.facets({}, ['exception'])
      assert.deepEqual(exception?.values[0], { value: 'E7', count: 2n })
      assert.deepEqual([exception?.values.length, exception?.other], [50, 3n])
    })
  })
}
