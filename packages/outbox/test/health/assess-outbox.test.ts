import { describe, expect, test } from 'vitest'
import { assessOutbox, type OutboxSnapshot, worstOf } from '../../src/health/assess-outbox.ts'

const nowMs = Date.UTC(2026, 0, 1)
const table = { pending: 0, retrying: 0, dead: 0, more: false, oldestAgeMs: 0, overdueMs: 0 }
const engine = { queued: 0, isExclusive: true, holdsTable: true }
const delivery = {
  engine,
  unavailable: [],
  otherMode: undefined,
  shortage: undefined,
  longCalls: [],
  readAtMs: 1_000_000,
  outcomeAtMs: 1_000_000,
}
const well: OutboxSnapshot = {
  nowMs,
  monotonicMs: 1_000_000,
  mode: 'Outbox.singleNode',
  state: 'RUNNING',
  startFailure: undefined,
  stallAfterMs: 300_000,
  database: undefined,
  unansweredSinceMs: undefined,
  table,
  delivery,
}
const old = { ...table, pending: 7, oldestAgeMs: 600_000, overdueMs: 600_000 }
const silent = { kind: 'NO_ANSWER', sinceMs: 990_000, error: undefined } as const
const idle = { ...delivery, outcomeAtMs: 600_000 }
const kafka = { destination: 'orders.events-3', since: nowMs - 60_000, reason: 'no leader', waiting: 42 }

function found(changes: Partial<OutboxSnapshot>): (readonly [string, string, number | null])[] {
  return assessOutbox({ ...well, ...changes }).map(({ kind, status, waiting }) => [kind, status, waiting] as const)
}

describe('an outbox', () => {
  test('is UP without findings when nothing is wrong', () => {
    expect(assessOutbox(well)).toEqual([])
    expect(worstOf([])).toBe('UP')
  })

  test.each<[string, Partial<OutboxSnapshot>, string, string, number | null]>([
    ['failed to start', { state: 'FAILED', startFailure: 'no table' }, 'START_FAILED', 'DOWN', null],
    ['gets no answer from its database', { database: silent }, 'DATABASE_UNAVAILABLE', 'DOWN', null],
    [
      'finds another mode on its table',
      { delivery: { ...delivery, otherMode: 'Outbox.keyed' } },
      'MODE_CONFLICT',
      'DOWN',
      0,
    ],
    ['could not renew its mode', { delivery: { ...delivery, otherMode: null } }, 'MODE_CONFLICT', 'DOWN', 0],
    [
      'lost the table',
      { delivery: { ...delivery, engine: { ...engine, holdsTable: false } } },
      'TABLE_HELD',
      'DOWN',
      0,
    ],
    [
      'has no partition of its instance',
      { mode: 'Outbox.leasing', delivery: { ...delivery, engine: { ...engine, isExclusive: false, shards: 0 } } },
      'NO_SHARDS',
      'DEGRADED',
      null,
    ],
    [
      'has a listener that does not finish',
      { delivery: { ...delivery, longCalls: [{ what: 'the listener of order.placed e-1', sinceMs: 600_000 }] } },
      'LISTENER_STALLED',
      'DOWN',
      1,
    ],
    [
      'cannot reach a destination',
      { delivery: { ...delivery, unavailable: [kafka] } },
      'DESTINATION_UNAVAILABLE',
      'DEGRADED',
      42,
    ],
    [
      'holds back as many keys as it may',
      { delivery: { ...delivery, engine: { ...engine, heldKeys: 10, isSaturated: true } } },
      'SATURATED',
      'DEGRADED',
      10,
    ],
    [
      'cannot mark events because their rows are locked',
      { delivery: { ...delivery, engine: { ...engine, locked: 3 } } },
      'ROWS_LOCKED',
      'DEGRADED',
      3,
    ],
    ['has an old event', { table: { ...old, overdueMs: 0 } }, 'BACKLOG', 'DEGRADED', 7],
    ['has a blocked statement', { unansweredSinceMs: 960_000 }, 'STATEMENT_STALLED', 'DEGRADED', 0],
    ['has a statement that never ends', { unansweredSinceMs: 600_000 }, 'STATEMENT_STALLED', 'DOWN', 0],
    [
      'waits for connections',
      { delivery: { ...delivery, shortage: { waitingMs: 3_000, waiting: 2 } } },
      'CONNECTION_SHORTAGE',
      'DEGRADED',
      null,
    ],
    ['has dead events', { table: { ...table, dead: 3 } }, 'DEAD_EVENTS', 'DEGRADED', 3],
  ])('that %s reports it', (_, changes, kind, status, waiting) => {
    expect(found(changes)).toEqual([[kind, status, waiting]])
  })

  test('says since when by the clock of the wall', () => {
    const [silence] = assessOutbox({ ...well, database: silent })
    expect(silence?.sinceMs).toBe(nowMs - 10_000)
    const [unavailable] = assessOutbox({ ...well, delivery: { ...delivery, unavailable: [kafka] } })
    expect(unavailable?.sinceMs).toBe(nowMs - 60_000)
  })

  test('names a pool without connections as the cause', () => {
    const [finding] = assessOutbox({ ...well, database: { ...silent, kind: 'NO_CONNECTION' } })
    expect(finding?.what).toContain('the pool is exhausted')
  })
})

describe('due events without progress', () => {
  const stalled = ['STALLED', 'DOWN', 7] as const
  const backlog = ['BACKLOG', 'DEGRADED', 7] as const

  test('are DOWN on the only node that may deliver them', () => {
    expect(found({ table: old, delivery: idle })).toEqual([stalled, backlog])
  })

  test('are DOWN on a node that shares the table, if it has them in memory or does not read', () => {
    const shared = { ...engine, isExclusive: false }
    expect(found({ table: old, delivery: { ...idle, engine: shared } })).toEqual([backlog])
    expect(found({ table: old, delivery: { ...idle, engine: { ...shared, queued: 1 } } })).toEqual([stalled, backlog])
    expect(found({ table: old, delivery: { ...idle, engine: shared, readAtMs: 600_000 } })).toEqual([stalled, backlog])
  })

  test('are no stall while others settle, while keys wait for a retry, or without shards', () => {
    const keyed = { ...engine, isExclusive: false, queued: 1 }
    expect(found({ table: old })).toEqual([backlog])
    expect(found({ table: old, delivery: { ...idle, engine: { ...keyed, heldKeys: 1 } } })).toEqual([backlog])
    const without = { ...idle, engine: { ...keyed, queued: 0, shards: 0 }, readAtMs: 0 }
    expect(found({ table: old, delivery: without }).map(([kind]) => kind)).toEqual(['BACKLOG', 'REMARK'])
    expect(found({ table: { ...old, overdueMs: 0 }, delivery: idle })).toEqual([backlog])
  })

  test('are explained by an unavailable destination or database', () => {
    expect(found({ table: old, delivery: { ...idle, unavailable: [kafka] } }).map(([kind]) => kind)).toEqual([
      'DESTINATION_UNAVAILABLE',
      'BACKLOG',
    ])
    expect(found({ table: old, delivery: idle, database: silent }).map(([kind]) => kind)).toEqual([
      'DATABASE_UNAVAILABLE',
      'BACKLOG',
    ])
  })
})
