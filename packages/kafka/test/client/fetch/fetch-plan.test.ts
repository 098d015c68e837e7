import { describe, expect, test } from 'vitest'
import { visibleSlice } from '../../../src/client/fetch/committed-batches.ts'
import { type FetchPlan, type FetchState, planFetches } from '../../../src/client/fetch/fetch-plan.ts'
import { type Isolation, PartitionFeed } from '../../../src/client/fetch/partition-feed.ts'
import { LogModel } from './log-model.ts'

const mib = 1024 * 1024

interface FeedShape {
  isPaused?: boolean
  isHeld?: boolean
  isStopped?: boolean
  isAtEnd?: boolean
  retryAt?: number
  isolation?: Isolation
  buffered?: number
}

function feed(
  partition: number,
  { isolation = 'READ_COMMITTED', buffered = 0, ...rest }: FeedShape = {},
): PartitionFeed {
  const made = new PartitionFeed({ topic: 't', partition, epoch: 1 }, isolation, 'id', 0n)
  if (buffered > 0) {
    const log = new LogModel()
    log.append(buffered)
    made.take(visibleSlice(log.slice(0n, 1).records, [], 0n))
  }
  return Object.assign(made, { isHeld: false }, rest)
}

/** Partitions below 10 on node 1, below 20 on node 2, the others nowhere. */
function plan(feeds: PartitionFeed[], state: Partial<FetchState> = {}): FetchPlan {
  return planFetches({
    feeds,
    leaderOf: ({ partition }) =>
      partition < 20 ? { nodeId: partition < 10 ? 1 : 2, host: 'h', port: 1, leaderEpoch: 0 } : undefined,
    busy: new Map(),
    bounds: { maxRecords: 100, maxBytes: 64 * mib },
    nowMs: 1_000,
    ...state,
  })
}

const asked = ({ fetches }: FetchPlan) =>
  fetches.map(({ name, feeds }) => [name, feeds.map(({ partition }) => partition)])

describe('a fetch plan', () => {
  test('asks each leader for what it leads', () => {
    expect(asked(plan([feed(1), feed(11), feed(2)]))).toEqual([
      ['1 READ_COMMITTED false', [1, 2]],
      ['2 READ_COMMITTED false', [11]],
    ])
  })

  test.each<[string, FeedShape]>([
    ['paused', { isPaused: true }],
    ['held', { isHeld: true }],
    ['stopped', { isStopped: true }],
    ['waiting after a failure', { retryAt: 1_001 }],
    ['with its share buffered', { buffered: 50 }],
  ])('leaves out a partition that is %s', (_, shape) => {
    expect(asked(plan([feed(1, shape), feed(2)]))).toEqual([['1 READ_COMMITTED false', [2]]])
  })

  test('leaves out what is already asked for, until a seek', () => {
    const one = feed(1)
    one.ask()
    expect(asked(plan([one]))).toEqual([])
    one.seek(3n)
    expect(asked(plan([one]))).toEqual([['1 READ_COMMITTED false', [1]]])
  })

  test('keeps apart what is read committed and what is not, since a request has one isolation', () => {
    expect(asked(plan([feed(1), feed(2, { isolation: 'READ_UNCOMMITTED' })]))).toEqual([
      ['1 READ_COMMITTED false', [1]],
      ['1 READ_UNCOMMITTED false', [2]],
    ])
  })

  test('does not let partitions with records wait behind a long poll', () => {
    const plans = plan([feed(1, { isAtEnd: true }), feed(2)])
    expect(plans.fetches.map(({ isTail, feeds }) => [isTail, feeds[0]?.partition])).toEqual([
      [true, 1],
      [false, 2],
    ])
    const busy = new Map([['1 READ_COMMITTED true', mib]])
    expect(asked(plan([feed(1, { isAtEnd: true }), feed(2)], { busy }))).toEqual([['1 READ_COMMITTED false', [2]]])
  })

  test('names the topics whose leaders are to be found', () => {
    const { leaderless, fetches } = plan([feed(30), feed(1)])
    expect([...leaderless]).toEqual(['t'])
    expect(fetches).toHaveLength(1)
  })

  test('a full partition does not keep the others from being fetched', () => {
    expect(asked(plan([feed(1, { buffered: 5_000 }), feed(2)]))).toEqual([['1 READ_COMMITTED false', [2]]])
  })

  test('promises no more bytes than are free, to all answers together', () => {
    const feeds = [feed(1), feed(2, { isAtEnd: true }), feed(11), feed(12, { isAtEnd: true })]
    const total = plan(feeds).fetches.reduce((sum, { maxBytes }) => sum + maxBytes, 0)
    expect(total).toBe(64 * mib)
    const busy = new Map([['2 READ_COMMITTED false', 60 * mib]])
    const left = plan(feeds, { busy }).fetches.reduce((sum, { maxBytes }) => sum + maxBytes, 0)
    expect(left).toBe(4 * mib)
  })

  test('asks for at most 16 MiB at once, and for at least something', () => {
    const bounds = { maxRecords: 100, maxBytes: 1_000 * mib }
    expect(plan([feed(1)], { bounds }).fetches[0]?.maxBytes).toBe(16 * mib)
    expect(plan([feed(1)], { bounds: { maxRecords: 1, maxBytes: 1 } }).fetches[0]?.maxBytes).toBe(1)
  })

  test('takes the buffers of those that may not hand out when they leave nothing to the others', () => {
    const hoarder = feed(1, { isPaused: true, buffered: 50 })
    const bounds = { maxRecords: 100, maxBytes: hoarder.bufferedBytes }
    expect(plan([hoarder, feed(2)], { bounds }).hoarding).toEqual([hoarder])
    expect(plan([hoarder, feed(2)]).hoarding).toEqual([])
  })
})
