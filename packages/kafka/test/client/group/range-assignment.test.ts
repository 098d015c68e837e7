import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { assignRange } from '../../../src/client/group/range-assignment.ts'
import type { GroupCandidate } from '../../../src/client/group/sticky-assignment.ts'

function member(memberId: string, topics: readonly string[]): GroupCandidate {
  return { memberId, topics, owned: [], generationId: -1 }
}

describe('a range assignment', () => {
  test('gives every partition to one member that wants its topic, in contiguous ranges that differ by at most one', () => {
    const memberIds = fc.uniqueArray(fc.string({ minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 10 })
    fc.assert(
      fc.property(memberIds, fc.integer({ min: 0, max: 40 }), (ids, count) => {
        const members = [...ids.map((id) => member(id, ['a'])), member('elsewhere', ['b'])]
        const assignment = assignRange(members, new Map([['a', count]]))
        const ranges = ids.toSorted().map((id) => (assignment.get(id) ?? []).map(({ partition }) => partition))
        expect(ranges.flat()).toEqual(Array.from({ length: count }, (_, partition) => partition))
        const sizes = ranges.map((range) => range.length)
        expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(1)
        expect(assignment.get('elsewhere')).toEqual([])
      }),
    )
  })

  test('gives partition p of two topics with equal counts to the same member', () => {
    const members = ['x', 'y', 'z'].map((id) => member(id, ['a', 'b']))
    const assignment = assignRange(
      members,
      new Map([
        ['a', 7],
        ['b', 7],
      ]),
    )
    for (const list of assignment.values()) {
      const partitionsOf = (wanted: string) =>
        list.filter(({ topic }) => topic === wanted).map(({ partition }) => partition)
      expect(partitionsOf('a')).toEqual(partitionsOf('b'))
    }
  })

  test('gives nothing of a topic that does not exist', () => {
    expect(assignRange([member('x', ['missing'])], new Map()).get('x')).toEqual([])
  })
})
