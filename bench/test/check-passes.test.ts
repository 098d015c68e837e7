import { describe, expect, test } from 'vitest'
import { problemOfCommits, problemOfCopies, problemOfPass } from '../src/passes/check-passes.ts'
import type { PassResult } from '../src/passes/pass-result.ts'

const complete = { records: 10, reads: 'ALL', keyBytes: 2, valueBytes: 5, headerBytes: 3 } as const
const pass = { pass: 0, topic: 't', records: 10, seconds: 1, cpuSeconds: 1, handled: 10, distinct: 10, bytes: 100 }

describe('the evidence of a pass', () => {
  test.each<[string, Partial<PassResult>, object, string | undefined]>([
    ['is complete', {}, {}, undefined],
    ['shows a lost record', { distinct: 9 }, {}, 'lost 1 of 10 records'],
    ['shows a repeated record', { handled: 12, bytes: 120 }, {}, 'repeated 2 of 10 calls'],
    ['shows a field that was not read', { bytes: 70 }, {}, 'read 70 bytes instead of 100'],
    ['has a call for each attempt', { handled: 40, bytes: 400 }, { callsPerRecord: 4 }, undefined],
    ['shows a missing attempt', {}, { callsPerRecord: 4 }, 'lost 30 of 40 calls'],
    ['needs no bytes if nothing is read', { distinct: 0, bytes: 0 }, { reads: 'NOTHING' }, undefined],
    [
      'counts calls if nothing is read',
      { handled: 9, distinct: 0, bytes: 0 },
      { reads: 'NOTHING' },
      'lost 1 of 10 calls',
    ],
    ['has key and value', { bytes: 70 }, { reads: 'KEY_VALUE' }, undefined],
    ['has as many records as its rivals', { records: 5 }, {}, 'ran 5 records instead of 10'],
  ])('%s', (_, result, work, problem) => {
    expect(problemOfPass({ ...pass, ...result }, { ...complete, ...work })).toBe(problem)
  })
})

test('a partition must be committed to its end, an empty one need not be', () => {
  const ended = { partition: 0, committed: 7n, end: 7n }
  expect(problemOfCommits([ended, { partition: 1, committed: null, end: 0n }])).toBeUndefined()
  expect(problemOfCommits([ended, { partition: 1, committed: 6n, end: 7n }])).toBe('committed 6 of 7 in partition 1')
  expect(problemOfCommits([{ partition: 2, committed: null, end: 7n }])).toBe('committed null of 7 in partition 2')
})

test('each record must be written once', () => {
  expect(problemOfCopies([1, 1])).toBeUndefined()
  expect(problemOfCopies([1, 0, 2, 3])).toBe('wrote 1 records never and 2 more than once')
})
