import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { TopicPartition } from '../../../src/client/cluster/topic-partition.ts'
import {
  type Assignment,
  assignSticky,
  type GroupCandidate,
  groupByTopic,
  withoutStillHeld,
} from '../../../src/client/group/sticky-assignment.ts'

const name = ({ topic, partition }: TopicPartition): string => `${topic}-${partition}`
const namesOf = (assignment: Assignment, memberId: string): string[] => (assignment.get(memberId) ?? []).map(name)

function member(memberId: string, topics: readonly string[], owned: readonly TopicPartition[] = []): GroupCandidate {
  return { memberId, topics, owned: groupByTopic(owned), generationId: owned.length === 0 ? -1 : 1 }
}

function rejoining(assignment: Assignment, topics: readonly string[], generationId: number): GroupCandidate[] {
  return [...assignment].map(([memberId, owned]) => ({ memberId, topics, owned: groupByTopic(owned), generationId }))
}

const sorted = (assignment: Assignment) => [...assignment].toSorted(([one], [other]) => (one < other ? -1 : 1))

const topicNames = ['a', 'b', 'c']
const counts = fc
  .dictionary(fc.constantFrom(...topicNames), fc.integer({ min: 0, max: 12 }))
  .map((object) => new Map(Object.entries(object)))
/** Members that may claim anything: partitions of others, of topics that are gone, twice. */
const anyMembers = fc.uniqueArray(
  fc.record({
    memberId: fc.string({ minLength: 1, maxLength: 3 }),
    topics: fc.subarray(topicNames),
    owned: fc.array(
      fc.record({
        topic: fc.constantFrom(...topicNames, 'gone'),
        partitions: fc.uniqueArray(fc.integer({ min: 0, max: 14 }), { maxLength: 8 }),
      }),
      { maxLength: 3 },
    ),
    generationId: fc.integer({ min: -1, max: 5 }),
  }),
  { minLength: 1, maxLength: 8, selector: ({ memberId }) => memberId },
)
const memberIds = fc.uniqueArray(fc.string({ minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 10 })

describe('a sticky assignment', () => {
  test('gives each partition of a wanted topic to exactly one member, which wants it, whatever members claim', () => {
    fc.assert(
      fc.property(anyMembers, counts, (members, partitions) => {
        const assignment = assignSticky(members, partitions)
        const given = [...assignment.values()].flat().map(name)
        expect(new Set(given).size).toBe(given.length)
        const wanted = new Set(members.flatMap(({ topics }) => topics))
        const existing = [...partitions].flatMap(([topic, count]) =>
          wanted.has(topic) ? Array.from({ length: count }, (_, partition) => name({ topic, partition })) : [],
        )
        expect(given.toSorted()).toEqual(existing.toSorted())
        for (const { memberId, topics } of members)
          for (const { topic } of assignment.get(memberId) ?? []) expect(topics).toContain(topic)
      }),
    )
  })

  test('differs by at most one partition between members that want the same', () => {
    fc.assert(
      fc.property(anyMembers, counts, (members, partitions) => {
        const equal = members.map((one) => ({ ...one, topics: topicNames }))
        const sizes = [...assignSticky(equal, partitions).values()].map((list) => list.length)
        expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(1)
      }),
    )
  })

  test('changes nothing when no member joined or left', () => {
    fc.assert(
      fc.property(memberIds, counts, (ids, partitions) => {
        const first = assignSticky(
          ids.map((id) => member(id, topicNames)),
          partitions,
        )
        const second = assignSticky(rejoining(first, topicNames, 1), partitions)
        for (const id of ids) expect(namesOf(second, id).toSorted()).toEqual(namesOf(first, id).toSorted())
      }),
    )
  })

  test('leaves each member what it has up to its fair share when members come and go', () => {
    fc.assert(
      fc.property(memberIds, memberIds, counts, (before, after, partitions) => {
        const first = assignSticky(
          before.map((id) => member(id, topicNames)),
          partitions,
        )
        const stayed = after.map((id) => member(id, topicNames, first.get(id) ?? []))
        const second = assignSticky(stayed, partitions)
        const all = [...partitions.values()].reduce((sum, count) => sum + count, 0)
        const fairShare = Math.floor(all / after.length)
        for (const id of after) {
          const had = namesOf(first, id)
          const kept = namesOf(second, id).filter((one) => had.includes(one))
          expect(kept.length).toBeGreaterThanOrEqual(Math.min(had.length, fairShare))
        }
      }),
    )
  })

  test('does not depend on the order in which the coordinator lists the members', () => {
    fc.assert(
      fc.property(anyMembers, counts, (members, partitions) => {
        expect(sorted(assignSticky(members.toReversed(), partitions))).toEqual(
          sorted(assignSticky(members, partitions)),
        )
      }),
    )
  })

  test('takes from every topic alike, so that no newcomer gets all of one', () => {
    const all = topicNames.flatMap((topic) => [0, 1, 2, 3].map((partition) => ({ topic, partition })))
    const partitions = new Map(topicNames.map((topic) => [topic, 4]))
    const assignment = assignSticky([member('old', topicNames, all), member('new', topicNames)], partitions)
    const byTopic = Map.groupBy(assignment.get('new') ?? [], ({ topic }) => topic)
    expect([...byTopic.values()].map((list) => list.length)).toEqual([2, 2, 2])
  })

  test('believes the later generation when two claim a partition', () => {
    const owned = [{ topic: 'a', partitions: [0] }]
    const members = [
      { memberId: 'stale', topics: ['a'], owned, generationId: 3 },
      { memberId: 'true', topics: ['a'], owned, generationId: 4 },
    ]
    const assignment = withoutStillHeld(assignSticky(members, new Map([['a', 1]])), members)
    expect(namesOf(assignment, 'true')).toEqual(['a-0'])
    expect(namesOf(assignment, 'stale')).toEqual([])
  })

  test.each([
    ['all new', (_index: number) => []],
    ['one member has everything', (index: number) => (index === 0 ? range(20_000) : [])],
    [
      'all have their share',
      (index: number) => range(20).map(({ partition }) => ({ topic: 't', partition: index + 1_000 * partition })),
    ],
  ])('comes to an end soon for 1,000 members and 20,000 partitions: %s', (_, ownedOf) => {
    const members = range(1_000).map(({ partition: index }) => member(`m${index}`, ['t'], ownedOf(index)))
    const sizes = [...assignSticky(members, new Map([['t', 20_000]])).values()].map((list) => list.length)
    expect([Math.min(...sizes), Math.max(...sizes)]).toEqual([20, 20])
  })
})

function range(count: number): TopicPartition[] {
  return Array.from({ length: count }, (_, partition) => ({ topic: 't', partition }))
}

describe('a cooperative rebalance', () => {
  test('withholds partitions that another member still holds, and assigns all of them in the next round', () => {
    fc.assert(
      fc.property(memberIds, memberIds, counts, (before, after, partitions) => {
        const first = assignSticky(
          before.map((id) => member(id, topicNames)),
          partitions,
        )
        // Members that left hold nothing; the others hold what they had.
        const joined = after.map((id) => member(id, topicNames, first.get(id) ?? []))
        const holderOf = new Map(
          joined.flatMap(({ memberId }) => (first.get(memberId) ?? []).map((p) => [name(p), memberId])),
        )
        const roundOne = withoutStillHeld(assignSticky(joined, partitions), joined)
        for (const [memberId, list] of roundOne)
          for (const partition of list) expect(holderOf.get(name(partition)) ?? memberId).toBe(memberId)
        const rejoined = rejoining(roundOne, topicNames, 2)
        const roundTwo = withoutStillHeld(assignSticky(rejoined, partitions), rejoined)
        expect([...roundTwo.values()].flat()).toHaveLength([...partitions.values()].reduce((sum, n) => sum + n, 0))
        const sizes = [...roundTwo.values()].map((list) => list.length)
        expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(1)
        // In the second round no member loses what it kept in the first.
        for (const [memberId, list] of roundOne)
          expect(namesOf(roundTwo, memberId)).toEqual(expect.arrayContaining(list.map(name)))
      }),
    )
  })

  test('lets a member that no longer wants a topic give it back before another gets it', () => {
    const members = [
      { memberId: 'left', topics: ['b'], owned: [{ topic: 'a', partitions: [0] }], generationId: 1 },
      member('stays', ['a']),
    ]
    const partitions = new Map([['a', 1]])
    expect(namesOf(withoutStillHeld(assignSticky(members, partitions), members), 'stays')).toEqual([])
  })
})
