import { describe, expect, test } from 'vitest'
import type { ContainerStatus, MemberStatus, PartitionStatus } from '../../src/api/binding-view.ts'
import type { PauseReason } from '../../src/api/pause-reason.ts'
import {
  assess,
  type BindingSnapshot,
  type ClusterSnapshot,
  type HealthSnapshot,
  statusOf,
} from '../../src/health/assess-health.ts'
import { HealthLog } from '../../src/health/health-log.ts'
import { TransactionError } from '../../src/partition/transaction/transaction-error.ts'
import { DerivedPublishError } from '../../src/records/record-errors.ts'
import { partitionStatus } from '../support/partition-status.ts'

const notWritten = new DerivedPublishError('orders.events.DLT', new Error('NOT_ENOUGH_REPLICAS'))
const notCommitted = new TransactionError({ topic: 'orders.events', partition: 0 }, new Error('NOT_ENOUGH_REPLICAS'))

function container(
  member: Partial<MemberStatus> = {},
  partitions: readonly Partial<PartitionStatus>[] = [],
  pausedBy: readonly PauseReason[] = [],
): ContainerStatus {
  return {
    place: {
      name: 'eventbus-orders',
      topic: 'orders.events',
      groupId: 'orders',
      kind: 'SOURCE',
      tier: 0,
      delayMs: 0,
      concurrency: 1,
    },
    pausedBy,
    members: [
      {
        index: 0,
        instanceId: undefined,
        state: 'RUNNING',
        failure: undefined,
        hasPlace: true,
        partitions: partitions.map(partitionStatus),
        unread: [],
        unreadable: [],
        ...member,
      },
    ],
  }
}

function binding(given: Partial<BindingSnapshot> = {}): BindingSnapshot {
  return {
    name: 'orders',
    commanded: 'RUNNING',
    startingSinceMs: undefined,
    pausedBy: new Set(),
    breaker: 'CLOSED',
    containers: [container()],
    losses: [],
    stalls: [],
    troubles: [],
    ...given,
  }
}

const quiet: ClusterSnapshot = { name: 'default', publishTrouble: undefined, silence: undefined }

function snapshot(
  bindings: readonly BindingSnapshot[],
  cluster: Partial<ClusterSnapshot> = {},
  nowMs = 0,
): HealthSnapshot {
  const clusters = [{ ...quiet, ...cluster }]
  return { nowMs, monotonicMs: nowMs, bindings, clusters, forgottenLosses: 0, startFailure: undefined }
}

const found = (bindings: readonly BindingSnapshot[], cluster: Partial<ClusterSnapshot> = {}): [string, string[]] => {
  const findings = assess(snapshot(bindings, cluster))
  return [statusOf(findings), findings.map(({ what }) => what)]
}

describe('health is UP', () => {
  test('without bindings', () => {
    expect(found([])).toEqual(['UP', []])
  })

  test('when everything runs', () => {
    expect(found([binding({ containers: [container({}, [{ pausedBy: ['BACKPRESSURE', 'DELAY'] }])] })])).toEqual([
      'UP',
      [],
    ])
  })

  test.each(['CREATED', 'STOPPED'] as const)('when a binding is %s by command, with a remark', (commanded) => {
    expect(found([binding({ commanded, containers: [] })])).toEqual([
      'UP',
      [`Binding orders is ${commanded}, as commanded.`],
    ])
  })
})

describe('health of a binding that stops', () => {
  const stopped = container({ state: 'STOPPED' }, [], ['SHUTDOWN'])
  const draining = container({}, [{ pausedBy: ['SHUTDOWN'] }], ['SHUTDOWN'])

  test('is UP with a remark, although some of its members have stopped and others drain', () => {
    expect(found([binding({ containers: [stopped, draining] })])).toEqual(['UP', ['Binding orders is stopping.']])
  })

  test('is UP while one of its topics, which was deleted, is no longer read', () => {
    expect(found([binding({ containers: [stopped, container()] })])).toEqual(['UP', []])
  })

  test('is DOWN when a member fails meanwhile, or records cannot be written', () => {
    const failed = container({ state: 'STOPPED', failure: 'the network is gone' }, [], ['SHUTDOWN'])
    const [status, reasons] = found([binding({ containers: [failed] })])
    expect([status, reasons[0]]).toEqual([
      'DOWN',
      'Binding orders: member 0 of eventbus-orders failed: the network is gone',
    ])
    const blocked = container({}, [{ pausedBy: ['SHUTDOWN', 'DEAD_LETTER_FAILURE'] }], ['SHUTDOWN'])
    expect(found([binding({ containers: [blocked] })])[0]).toBe('DOWN')
  })
})

describe('health of a partition that is stopped by a batch', () => {
  test('is DOWN and says at which offset, why, and what to do', () => {
    const batch = { topic: 'orders.events', partition: 3, offset: 42n, why: 'It is too large.', hint: 'Skip it.' }
    const [finding] = assess(snapshot([binding({ containers: [container({ unreadable: [batch] })] })]))
    expect(finding).toMatchObject({
      status: 'DOWN',
      what: 'Binding orders, orders.events-3: stopped at offset 42: It is too large.',
      hint: 'Skip it.',
    })
  })
})

describe('health is DEGRADED', () => {
  test.each<[string, Partial<BindingSnapshot>, RegExp]>([
    ['a breaker is open', { breaker: 'OPEN' }, /orders: its circuit breaker is open/],
    ['a breaker probes', { breaker: 'HALF_OPEN' }, /half-open and probing/],
    ['an operator has paused', { pausedBy: new Set(['OPERATOR']) }, /orders is paused by an operator/],
    ['the classifier has paused the binding', { pausedBy: new Set(['EXHAUSTED']) }, /returned PAUSE_CONTAINER/],
    [
      'a record waits for an operator',
      { containers: [container({}, [{ partition: 3, watermark: 42n, pausedBy: ['EXHAUSTED'] }])] },
      /orders, orders.events-3: the record at offset 42 failed permanently/,
    ],
    [
      'a partition cannot be started',
      { containers: [container({}, [{ partition: 3, pausedBy: ['EXHAUSTED'], trouble: '2 records wait elsewhere' }])] },
      /orders, orders.events-3 is not started: 2 records wait elsewhere/,
    ],
    [
      'the limit of waiting records is reached',
      { containers: [container({}, [{ waiting: 1_000, pausedBy: ['WAITING_FULL'] }])] },
      /1000 records wait behind failed ones/,
    ],
    [
      'a commit cannot be accounted for',
      {
        losses: [
          {
            kind: 'UNACCOUNTED',
            binding: 'orders',
            topic: 'orders.events',
            partition: 1,
            what: 'no metadata.',
            records: undefined,
            atMs: 0,
          },
        ],
      },
      /orders, orders.events-1: no metadata/,
    ],
  ])('when %s', (_, given, what) => {
    expect(found([binding(given)])).toEqual(['DEGRADED', [expect.stringMatching(what)]])
  })

  test('when a cluster does not answer', () => {
    expect(found([], { silence: 'no connection' })).toEqual([
      'DEGRADED',
      ['Cluster default does not answer: no connection'],
    ])
  })
})

describe('health is DOWN', () => {
  test.each<[string, Partial<BindingSnapshot>, RegExp]>([
    [
      'a member failed',
      { containers: [container({ state: 'FAILED', failure: 'fenced' })] },
      /member 0 of eventbus-orders failed: fenced/,
    ],
    [
      'a member stopped without a command',
      { containers: [container({ state: 'STOPPED' })] },
      /member 0 of eventbus-orders is STOPPED without a stop command/,
    ],
    [
      'a dead letter is not confirmed',
      { containers: [container({}, [{ pausedBy: ['DEAD_LETTER_FAILURE'], trouble: notWritten.message }])] },
      /^Binding orders, orders.events-0: Cannot write a record to orders.events.DLT: NOT_ENOUGH_REPLICAS/,
    ],
    [
      'a transaction is not committed, and of nothing else',
      { containers: [container({}, [{ pausedBy: ['DEAD_LETTER_FAILURE'], trouble: notCommitted.message }])] },
      /^Binding orders, orders.events-0: A transaction for orders.events-0 could not be committed: NOT_ENOUGH_REPLICAS/,
    ],
    [
      'a partition is stalled',
      {
        stalls: [
          {
            binding: 'orders',
            topic: 'orders.events',
            partition: 2,
            cause: 'NO_PROGRESS',
            sinceMs: 0,
            watermark: 9n,
          },
        ],
      },
      /orders.events-2: no progress at offset 9/,
    ],
    [
      'a handler never ends',
      {
        stalls: [
          { binding: 'orders', topic: 'orders.events', partition: 2, cause: 'LONG_CALL', sinceMs: 0, watermark: 9n },
        ],
      },
      /orders.events-2: a handler call does not finish/,
    ],
    [
      'records were lost',
      {
        losses: [
          {
            kind: 'LOST',
            binding: 'orders',
            topic: 'orders.events',
            partition: 1,
            what: 'gone.',
            records: 1n,
            atMs: 0,
          },
        ],
      },
      /orders, orders.events-1: gone/,
    ],
  ])('when %s', (_, given, what) => {
    expect(found([binding(given)])).toEqual(['DOWN', [expect.stringMatching(what)]])
  })

  test('when retry and dead letter records cannot be written', () => {
    expect(found([], { publishTrouble: 'refused' })[0]).toBe('DOWN')
  })

  test('when there were more losses than are kept', () => {
    expect(assess({ ...snapshot([]), forgottenLosses: 3 })).toMatchObject([
      { status: 'DOWN', what: '3 older losses are no longer listed: there were too many.' },
    ])
  })

  test('when records of a binding that was stopped were lost', () => {
    const lost = {
      kind: 'LOST',
      binding: 'orders',
      topic: 't',
      partition: 0,
      what: 'gone.',
      records: 1n,
      atMs: 0,
    } as const
    expect(found([binding({ commanded: 'STOPPED', containers: [], losses: [lost] })])[0]).toBe('DOWN')
  })
})

test('a slow start turns health DEGRADED, with the time it began', () => {
  const starting = binding({ commanded: 'CREATED', startingSinceMs: 1_000, containers: [] })
  const early = assess(snapshot([starting], {}, 10_999))
  expect(early).toMatchObject([{ status: 'UP', what: 'Binding orders is starting.' }])
  const late = assess(snapshot([starting], {}, 11_000))
  expect(late).toMatchObject([{ status: 'DEGRADED', what: 'Binding orders is starting.', sinceMs: 1_000 }])
})

test('a start that failed turns health DOWN', () => {
  const findings = assess({ ...snapshot([]), startFailure: 'KafkaError: nobody answers' })
  expect(findings).toMatchObject([{ status: 'DOWN', what: 'Connector start failed: KafkaError: nobody answers' }])
})

test('a pause of the whole binding is reported once and not for each partition', () => {
  const held = container({}, [{ pausedBy: ['EXHAUSTED'] }, { partition: 1, pausedBy: ['EXHAUSTED'] }], ['EXHAUSTED'])
  expect(found([binding({ pausedBy: new Set(['EXHAUSTED']), containers: [held] })])[1]).toHaveLength(1)
})

test('the worst finding comes first', () => {
  const findings = assess(snapshot([binding({ breaker: 'OPEN' })], { publishTrouble: 'refused' }))
  expect(findings.map(({ status }) => status)).toEqual(['DOWN', 'DEGRADED'])
})

const open = (nowMs: number): HealthSnapshot => snapshot([binding({ breaker: 'OPEN' })], {}, nowMs)

describe('a health log', () => {
  test('reports since when a reason holds, and forgets it when it is over', () => {
    const log = new HealthLog()
    log.report(open(60_000))
    expect(log.report(open(120_000))).toEqual({
      status: 'DEGRADED',
      reasons: [
        'Binding orders: its circuit breaker is open. Since 1970-01-01T00:01:00.000Z. ' +
          "Check the handler's dependencies. No record is lost, and the breaker closes by itself once calls succeed.",
      ],
      remarks: [],
      findings: [
        {
          status: 'DEGRADED',
          binding: 'orders',
          what: 'Binding orders: its circuit breaker is open.',
          hint: "Check the handler's dependencies. No record is lost, and the breaker closes by itself once calls succeed.",
          sinceMs: 60_000,
        },
      ],
    })
    log.report(snapshot([binding()], {}, 180_000))
    expect(log.report(open(240_000)).reasons[0]).toContain('Since 1970-01-01T00:04:00.000Z')
  })

  test('converts the monotonic start of a stall to wall clock time', () => {
    const stall = {
      binding: 'orders',
      topic: 't',
      partition: 0,
      cause: 'NO_PROGRESS',
      watermark: 1n,
      sinceMs: 50,
    } as const
    const seen = { ...snapshot([binding({ stalls: [stall] })], {}, 1_000_000), monotonicMs: 400_050 }
    expect(new HealthLog().report(seen).reasons[0]).toContain('Since 1970-01-01T00:10:00.000Z')
  })

  test('lists at most fifty reasons, and counts the rest', () => {
    const many = Array.from({ length: 60 }, (_, index) => binding({ name: `orders-${index}`, breaker: 'OPEN' }))
    const { reasons } = new HealthLog().report(snapshot(many))
    expect(reasons).toHaveLength(51)
    expect(reasons.at(-1)).toBe('And 10 more.')
  })
})

test('a lasting trouble turns health DOWN, with the time it began', () => {
  const trouble = { key: 'k', binding: 'orders', what: 'Topic gone', hint: 'Create it.', patienceMs: 0, sinceMs: 1_000 }
  const [finding] = assess({ ...snapshot([binding({ troubles: [trouble] })]), nowMs: 9_000, monotonicMs: 5_000 })
  const seen = { key: 'k', status: 'DOWN', binding: 'orders', what: 'Topic gone', hint: 'Create it.', sinceMs: 5_000 }
  expect(finding).toEqual(seen)
})
