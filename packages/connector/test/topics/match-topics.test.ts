import { describe, expect, test } from 'vitest'
import { matchTopics } from '../../src/topics/match-topics.ts'
import { findTopics } from '../../src/topics/topic-search.ts'
import { resolved } from '../options/test-binding.ts'

const binding = resolved({ topic: /./, retry: { tiers: [{ topicSuffix: 'later', delayMs: 5 }] } })
const match = (pattern: RegExp, existing: readonly string[]): readonly string[] =>
  matchTopics(binding, pattern, existing)
const admin = (names: readonly string[]) => ({ listTopics: () => Promise.resolve(names.slice()) })

describe('an expression means', () => {
  test('the topics whose name it matches, in their order', () => {
    expect(match(/^orders\.(eu|us)$/, ['orders.us', 'orders.asia', 'orders.eu'])).toEqual(['orders.eu', 'orders.us'])
  })

  // A backtracking matcher blocks the process: 3 s with 28 letters, twice as long with every further one.
  test('an answer at once, whatever the expression and the names are', () => {
    expect(match(/^(a|a)*$/, [`${'a'.repeat(248)}-`, 'aaa'])).toEqual(['aaa'])
  })

  test('none of those that Kafka keeps for itself', () => {
    expect(match(/./, ['__consumer_offsets', '__transaction_state', 'orders'])).toEqual(['orders'])
  })

  test.each([
    ['a tier of its own', 'orders.later'],
    ['its own dead letters', 'orders.DLT'],
    ['the tier of another group', 'orders.shipping.retry-2'],
    ['the dead letters of another group', 'orders.shipping.DLT'],
    ['what waits for another group', 'orders.shipping.waiting'],
  ])('never %s, also where the topic it came from is gone', (_, derived) => {
    expect(match(/^orders/, ['orders', derived])).toEqual(['orders'])
    expect(match(/^orders/, [derived])).toEqual([])
  })

  test('never the dead letter topic that the binding names', () => {
    const shared = resolved({ topic: /./, dlt: { topic: 'failures' } })
    expect(matchTopics(shared, /./, ['failures', 'orders'])).toEqual(['orders'])
  })

  test('a topic that is only nearly called like a derived one', () => {
    const alike = ['orders.DLTs', 'orders.laterer', 'orders.retry-17', 'retry-1', 'waiting']
    expect(match(/./, alike)).toEqual(alike)
  })
})

describe('topics that are found', () => {
  test('are those that are not known yet', async () => {
    const parts = [binding.forTopic('a')]
    const found = await findTopics({ resolved: binding, parts }, [], admin(['a', 'b']))
    expect(found).toMatchObject({ gone: [], parts: [{ topic: 'b', deadLetter: { topic: 'b.DLT' } }], violations: [] })
  })

  test('leave out those that are gone', async () => {
    const parts = [binding.forTopic('a'), binding.forTopic('b')]
    const found = await findTopics({ resolved: binding, parts }, [], admin(['b']))
    expect(found).toEqual({ parts: [], gone: ['a'], violations: [] })
  })

  test('are none for a binding that lists its own', async () => {
    const listing = resolved({ topic: ['a'] })
    expect(await findTopics({ resolved: listing, parts: [] }, [], admin(['a', 'b']))).toEqual({
      parts: [],
      gone: [],
      violations: [],
    })
  })

  test('are at most as many as a process can read, and the rest is reported', async () => {
    const names = Array.from({ length: 103 }, (_, at) => `t${at}`)
    const { parts, violations } = await findTopics({ resolved: binding, parts: [] }, [], admin(names))
    expect(parts).toHaveLength(100)
    expect(violations).toEqual([
      { path: 'bindings.orders.topic', problem: '/./ matches 103 topics, at most 100 are allowed' },
    ])
  })

  test('are not those that another binding reads in the same group', async () => {
    const other = resolved({ topic: 'a' }, 'other')
    const { parts, violations } = await findTopics({ resolved: binding, parts: [] }, [other], admin(['a', 'b']))
    expect(parts.map(({ topic }) => topic)).toEqual(['b'])
    expect(violations).toEqual([
      { path: 'bindings.orders.groupId', problem: expect.stringContaining('billing already reads a for other') },
    ])
  })
})
