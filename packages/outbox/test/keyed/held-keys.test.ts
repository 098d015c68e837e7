import { expect, test } from 'vitest'
import { type HeldKey, HeldKeys } from '../../src/keyed/held-keys.ts'
import { keyText } from '../../src/keyed/shard-of.ts'

const key = { aggregateType: 'order', aggregateId: 'a' }

function holdOf(fields: Partial<HeldKey>): HeldKey {
  return { key, reason: 'WAITING', from: 5n, complete: 3n, dueAt: 100, isUnconfirmed: false, sureSince: 0, ...fields }
}

test.each([[{ from: 7n, complete: 9n }], [{ from: 7n, complete: null }], [{ from: 2n, complete: 9n }]])(
  'I7 a key that is held again (%o) is read from the lower row, above what was complete at both holds',
  (again) => {
    const held = new HeldKeys()
    held.hold(holdOf({}))
    held.hold(holdOf({ ...again, reason: 'DEAD' }))
    expect(held.release(keyText(key))).toMatchObject({
      reason: 'DEAD',
      from: again.from < 5n ? again.from : 5n,
      complete: again.complete === null ? null : 3n,
    })
  },
)

test('I7 keys that are released together are read from the lowest row, above what was complete for all', () => {
  const held = new HeldKeys()
  held.hold(holdOf({ from: 7n, complete: 3n }))
  held.hold(holdOf({ key: { ...key, aggregateId: 'b' }, from: 5n, complete: 4n }))
  held.hold(holdOf({ key: { ...key, aggregateId: 'c' }, from: 9n, complete: 8n }))
  expect(held.releaseDue(100)).toEqual({ from: 5n, complete: 3n })
  expect([held.size, held.nextDueAt]).toEqual([0, Number.POSITIVE_INFINITY])
})

test('I7 an answer about a row before the held one confirms nothing', () => {
  const held = new HeldKeys()
  held.hold(holdOf({ isUnconfirmed: true }))
  held.confirm(keyText(key), 4n, 1)
  expect(held.releaseDue(100)).toBeUndefined()
  held.confirm(keyText(key), 5n, 1)
  expect(held.releaseDue(100)).toEqual({ from: 5n, complete: 3n })
})

test('I7 a dead key is released by a scan that began after its hold was confirmed, and no other', () => {
  const held = new HeldKeys()
  held.hold(holdOf({ reason: 'DEAD', dueAt: Number.POSITIVE_INFINITY, isUnconfirmed: true }))
  expect(held.releaseDead(new Set(), 1)).toBeUndefined()
  held.confirm(keyText(key), 5n, 1)
  expect(held.releaseDead(new Set(), 1)).toBeUndefined()
  expect(held.releaseDead(new Set([keyText(key)]), 2)).toBeUndefined()
  expect(held.releaseDead(new Set(), 2)).toEqual({ from: 5n, complete: 3n })
})
