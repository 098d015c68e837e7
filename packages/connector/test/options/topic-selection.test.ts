import { describe, expect, test } from 'vitest'
import { partsOf } from '../../src/options/binding-options.ts'
import { describeTopics, listedTopics, patternIn } from '../../src/options/topic-selection.ts'
import { refusalsOf, resolved } from './test-binding.ts'

/** No problem is expected. */
const none = (problem: string): never => expect.fail(problem)

describe('the topics of a binding', () => {
  test('are one, several or an expression', () => {
    expect(listedTopics('a')).toEqual(['a'])
    expect(listedTopics(['a', 'b'])).toEqual(['a', 'b'])
    expect(listedTopics(/a/)).toBeUndefined()
  })

  test('have parts with names of their own, and all else in common', () => {
    const binding = resolved({ topic: ['a', 'b'], concurrency: 3, retry: { tiers: [{ delayMs: 5 }] } })
    const parts = partsOf(binding)
    expect(parts).toMatchObject([
      {
        topic: 'a',
        tiers: [{ topic: 'a.retry-1' }],
        deadLetter: { topic: 'a.DLT' },
        concurrency: 3,
        groupId: 'billing',
      },
      {
        topic: 'b',
        tiers: [{ topic: 'b.retry-1' }],
        deadLetter: { topic: 'b.DLT' },
        concurrency: 3,
        groupId: 'billing',
      },
    ])
    for (const part of parts) expect(partsOf(part)).toEqual([part])
  })

  test('share a dead letter topic that has a name of its own', () => {
    const parts = partsOf(resolved({ topic: ['a', 'b'], dlt: { topic: 'failures' } }))
    expect(parts.map(({ deadLetter }) => deadLetter.topic)).toEqual(['failures', 'failures'])
  })

  test('have a waiting topic each with orderingMode KEY', () => {
    const parts = partsOf(resolved({ topic: ['a', 'b'], orderingMode: 'KEY', parallelism: 'KEY' }))
    expect(parts.map(({ waitingTopic }) => waitingTopic)).toEqual(['a.billing.waiting', 'b.billing.waiting'])
  })

  test('have no part before a cluster was asked, where they are an expression', () => {
    const binding = resolved({ topic: /^a/ })
    expect(partsOf(binding)).toEqual([])
    expect(binding.forTopic('ab')).toMatchObject({ topic: 'ab', deadLetter: { topic: 'ab.DLT' } })
  })

  test('are called by what no cluster takes for a topic, unless it is one', () => {
    expect([describeTopics('a'), describeTopics(['a', 'b']), describeTopics(/^a/i)]).toEqual(['a', '[a, b]', '/^a/i'])
  })

  test.each([
    [['a', 'a'], 'topic[1] a is already in the list'],
    [['a', 'a.DLT'], 'topic[1] a.DLT receives the failures of a: it needs its own binding'],
    [['a.retry-2', 'a'], 'topic[0] a.retry-2 receives the failures of a: it needs its own binding'],
  ])('%j are refused', (topic, problem) => {
    expect(refusalsOf({ topic })).toEqual([problem])
  })

  test('report a group that cannot be part of a name once', () => {
    const options = { topic: ['a', 'b'], groupId: 'a b', orderingMode: 'KEY', parallelism: 'KEY' }
    expect(refusalsOf(options)).toEqual([
      expect.stringMatching(/^groupId is part of topic names with orderingMode KEY/),
    ])
  })

  test('make no name twice', () => {
    const tiers = [
      { delayMs: 1, topicSuffix: 'b.r' },
      { delayMs: 2, topicSuffix: 'r' },
    ]
    expect(refusalsOf({ topic: ['a', 'a.b'], retry: { tiers } })).toEqual([
      'retry.tiers[1].topicSuffix produces the name a.b.r for both a and a.b: each topic needs its own',
    ])
  })

  test('are each checked for the names they make', () => {
    expect(refusalsOf({ topic: ['a', 'b'.repeat(244)] })).toEqual([
      expect.stringMatching(/^topic produces the name b+\.retry-1, which is not a topic name/),
      expect.stringMatching(/^topic produces the name b+\.retry-2, which is not a topic name/),
      expect.stringMatching(/^topic produces the name b+\.retry-3, which is not a topic name/),
    ])
  })

  test('may come as a text between slashes', () => {
    expect(patternIn('/^a\\/b/i', none)).toEqual(/^a\/b/i)
    for (const other of ['a', '/a', '//', 5, undefined]) expect(patternIn(other, none)).toBe(other)
  })

  test('are refused as an expression that only a backtracking matcher could match', () => {
    expect(refusalsOf({ topic: /^(a)\1$/ })).toEqual([
      expect.stringMatching(/^topic \/\^\(a\)\\1\$\/ has a backreference, \\1, so it cannot be matched in linear time/),
    ])
  })

  test.each([
    ['/(/', 'Unterminated group'],
    ['/a/zz', 'Invalid flags'],
  ])('report once why %s is not an expression', (written, why) => {
    const problems: string[] = []
    const placeholder = patternIn(written, (problem) => problems.push(problem))
    expect(problems).toEqual([expect.stringContaining(why)])
    expect(refusalsOf({ topic: placeholder })).toEqual([])
  })
})
