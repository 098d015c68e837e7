import { createMemoryLogger, createMemoryMetrics, StateError } from '@waybill/core'
import type { PendingQuery, PendingRow } from '@waybill/outbox/internal'
import { createVirtualRuntime } from '@waybill/sim'
import { describe, expect, test } from 'vitest'
import type { FetchedRows } from '../../src/claim/claims.ts'
import { createOutboxTelemetry } from '../../src/loops/outbox-telemetry.ts'
import { ReadBudget } from '../../src/loops/read-budget.ts'
import { Poller, type PollerDeps } from '../../src/relay/poller.ts'
import { orderEvent } from '../support/outbox-harness.ts'

const hold = { fence: { kind: 'NONE' }, mayStart: () => true } as const

function pending(n: number): PendingRow {
  return { seq: BigInt(n), eventId: `event-${n}`, attempts: 0, bytes: 100, event: orderEvent(n) }
}

/** A poller over a table of so many rows that are gone once fetched. */
function polling(rowCount: number, parts: Partial<PollerDeps> = {}) {
  const logger = createMemoryLogger()
  const metrics = createMemoryMetrics()
  const runtime = createVirtualRuntime(1, { logger, metrics })
  const table = Array.from({ length: rowCount }, (_, n) => pending(n + 1))
  const queries: PendingQuery[] = []
  const accepted: string[] = []
  const state = { capacity: 1_000, fails: false, refuses: 0, latencyMs: 0 }
  const poller = new Poller({
    claims: {
      repeatsRows: false,
      async fetch(query): Promise<FetchedRows> {
        queries.push(query)
        if (state.latencyMs > 0) await runtime.timers.sleep(state.latencyMs)
        if (state.fails) throw new StateError('the database is away')
        return { rows: query.status === 'NEW' ? table.splice(0, query.limit) : [], hold, isCut: false }
      },
    },
    sink: {
      availableCapacity: () => state.capacity,
      maxCapacity: 1_000,
      inFlight: 7,
      inFlightBytes: () => 700,
      accept({ rows }) {
        const taken = rows.slice(0, rows.length - state.refuses)
        accepted.push(...taken.map(({ eventId }) => eventId))
        return {
          enqueued: taken.length,
          refused: rows.length - taken.length,
          waiting: 0,
          isStalled: taken.length === 0,
        }
      },
      nextProbeAt: () => Number.POSITIVE_INFINITY,
      dueProbes: () => [],
      fetchedProbe: () => {},
      wanted: () => undefined,
    },
    duringQuery: (look) => look(),
    batchSize: 50,
    reads: new ReadBudget(1_000_000),
    intervalMs: 5_000,
    skipRecentMs: 0,
    telemetry: createOutboxTelemetry('outbox', runtime),
    runtime,
    ...parts,
  })
  const newQueries = () => queries.filter(({ status }) => status === 'NEW')
  return { poller, runtime, queries, newQueries, accepted, state, table, logger, metrics }
}

describe('one poll', () => {
  test('fetches no more than a batch and no more than there is room for', async () => {
    const { poller, newQueries, state } = polling(200)
    await poller.poll()
    state.capacity = 20
    await poller.poll()
    expect(newQueries().map(({ limit }) => limit)).toEqual([50, 20])
  })

  test('asks nothing without room', async () => {
    const { poller, queries, state } = polling(10)
    state.capacity = 0
    expect(await poller.poll()).toBe('SKIPPED')
    expect(queries).toEqual([])
  })

  test('looks for rows that wait as well, with half of its room', async () => {
    const { poller, queries } = polling(0)
    await poller.poll()
    expect(queries.map(({ status, limit }) => [status, limit])).toEqual([
      ['RETRY', 25],
      ['NEW', 50],
    ])
  })

  test('asks for more waiting rows where a look answers those in flight again', async () => {
    const answers: PendingQuery[] = []
    const claims: PollerDeps['claims'] = {
      repeatsRows: true,
      fetch: async (query) => {
        answers.push(query)
        return { rows: [], hold, isCut: false }
      },
    }
    const { poller } = polling(0, { claims })
    await poller.poll()
    expect(answers[0]?.limit).toBe(25 + 7)
  })

  test('never runs twice at a time', async () => {
    const { poller, runtime, queries, state } = polling(0)
    state.latencyMs = 10
    await runtime.run(() => Promise.all([poller.poll(), poller.poll()]))
    expect(queries.length).toBe(2)
  })

  test('that fails is logged and leaves the lag as it was', async () => {
    const { poller, state, logger, metrics } = polling(1)
    state.fails = true
    expect(await poller.poll()).toBe('FAILED')
    expect(logger.lines.map(({ level }) => level)).toEqual(['ERROR'])
    expect(metrics.latest('outbox.lag.oldest.ms')).toBe(undefined)
  })

  test('records the age of the oldest row, and 0 when there is none', async () => {
    const { poller, runtime, metrics } = polling(1)
    await runtime.advance(1_500)
    await poller.poll()
    expect(metrics.latest('outbox.lag.oldest.ms')).toBe(1_500)
    await poller.poll()
    expect(metrics.latest('outbox.lag.oldest.ms')).toBe(0)
  })

  test('whose rows are not all taken begins at the start next time', async () => {
    const { poller, newQueries, state } = polling(100)
    await poller.poll()
    state.refuses = 1
    await poller.poll()
    await poller.poll()
    expect(newQueries().map(({ floor }) => floor)).toEqual([null, 50n, null])
  })
})

describe('a poller that runs', () => {
  test('goes on at once after a full page, and waits for its interval after one that is not', async () => {
    const { poller, runtime, accepted, newQueries } = polling(120)
    poller.start()
    await runtime.advance(0)
    expect([accepted.length, newQueries().length]).toEqual([120, 3])
    await runtime.advance(4_999)
    expect(newQueries().length).toBe(3)
    await runtime.advance(1)
    expect(newQueries().length).toBe(4)
    await poller.stop()
  })

  test('waits for room for half a page, and goes on when it appears', async () => {
    const { poller, runtime, state, newQueries } = polling(200)
    state.capacity = 50
    poller.start()
    state.capacity = 10
    await runtime.advance(100)
    expect(newQueries().length).toBe(1)
    state.capacity = 24
    poller.roomAppeared()
    await runtime.advance(0)
    expect(newQueries().length).toBe(1)
    state.capacity = 25
    poller.roomAppeared()
    await runtime.advance(0)
    expect(newQueries().length).toBeGreaterThan(1)
    await poller.stop()
  })

  test('is woken by a row that this process put off, when it falls due', async () => {
    const { poller, runtime, queries } = polling(0)
    poller.start()
    await runtime.advance(0)
    queries.length = 0
    poller.rowDueIn(200)
    await runtime.advance(199)
    expect(queries.length).toBe(0)
    await runtime.advance(21)
    expect(queries.map(({ status }) => status)).toEqual(['RETRY', 'NEW'])
    await poller.stop()
  })

  test('is woken by hand, also to look at the whole table', async () => {
    const { poller, runtime, newQueries, table } = polling(1)
    poller.start()
    await runtime.advance(15_000)
    const before = newQueries().length
    poller.wake()
    await runtime.advance(0)
    expect(
      newQueries()
        .slice(before)
        .map(({ floor }) => floor),
    ).toEqual([1n])
    table.push(pending(1))
    poller.wakeForSweep()
    await runtime.advance(0)
    expect(newQueries().at(-1)?.floor).toBe(null)
    await poller.stop()
  })

  test('tries again after a growing wait when the database is away, never more often than ten times a second', async () => {
    const { poller, runtime, queries, state } = polling(0)
    state.fails = true
    poller.start()
    await runtime.advance(60_000)
    expect(queries.length).toBeGreaterThan(12)
    expect(queries.length).toBeLessThan(40)
    state.fails = false
    await poller.stop()
  })

  test('looks for waiting rows once a second while there is a backlog', async () => {
    const { poller, runtime, queries, state } = polling(100_000)
    state.latencyMs = 10
    poller.start()
    await runtime.advance(5_000)
    const looks = queries.filter(({ status }) => status === 'RETRY').length
    expect(looks).toBeGreaterThanOrEqual(4)
    expect(looks).toBeLessThanOrEqual(6)
    await runtime.run(() => poller.stop())
  })
})

describe('starting and stopping', () => {
  test('a second start changes nothing; stop waits for the poll under way; then polls do nothing', async () => {
    const { poller, runtime, queries, state } = polling(0)
    state.latencyMs = 10
    poller.start()
    poller.start()
    await runtime.run(() => poller.stop())
    expect(queries.length).toBe(2)
    expect(await poller.poll()).toBe('SKIPPED')
    expect(() => poller.start()).toThrow(StateError)
    await runtime.advance(10_000)
    expect(queries.length).toBe(2)
  })

  test('stopping before the start is fine', async () => {
    const { poller, queries } = polling(1)
    await poller.stop()
    expect(queries).toEqual([])
  })
})

describe('a page that left out rows because of their size', () => {
  test('I24 is followed by the next page at once, from its last row', async () => {
    const queries: PendingQuery[] = []
    const pages = [[pending(1)], [pending(2)], []]
    const claims: PollerDeps['claims'] = {
      repeatsRows: false,
      fetch: async (query) => {
        if (query.status === 'RETRY') return { rows: [], hold, isCut: false }
        queries.push(query)
        const rows = pages.shift() ?? []
        return { rows, hold, isCut: rows.length > 0 }
      },
    }
    const { poller } = polling(0, { claims })
    expect([await poller.poll(), await poller.poll(), await poller.poll()]).toEqual(['FULL', 'FULL', 'DRAINED'])
    expect(queries.map(({ floor }) => floor)).toEqual([null, 1n, 2n])
  })

  test('I24 waits for room if it is empty, because rows in flight take up the read', async () => {
    const claims: PollerDeps['claims'] = { repeatsRows: false, fetch: async () => ({ rows: [], hold, isCut: true }) }
    const { poller } = polling(0, { claims })
    expect(await poller.poll()).toBe('SKIPPED')
  })

  test('I24 asks for smaller pages while rows are large', async () => {
    const { poller, newQueries } = polling(200, { reads: new ReadBudget(8_000) })
    await poller.poll()
    await poller.poll()
    expect(newQueries().map(({ limit, maxBytes }) => [limit, maxBytes])).toEqual([
      [50, 1_000],
      [10, 1_000],
    ])
  })

  test('I24 does not query retries again while too many bytes of them are in flight', async () => {
    const queries: PendingQuery[] = []
    const claims: PollerDeps['claims'] = {
      repeatsRows: true,
      fetch: async (query) => {
        queries.push(query)
        return { rows: [], hold, isCut: false }
      },
    }
    const { poller } = polling(0, { claims, reads: new ReadBudget(8 * 699) })
    await poller.poll()
    expect(queries.map(({ status }) => status)).toEqual(['NEW'])
    const { poller: other } = polling(0, { claims, reads: new ReadBudget(8 * 700) })
    await other.poll()
    expect(queries.map(({ status, maxBytes }) => [status, maxBytes]).slice(1)).toEqual([
      ['RETRY', 1_400],
      ['NEW', 700],
    ])
  })
})

/** In sequence, a full page that is the same with every read. */
function stalled() {
  const queries: PendingQuery[] = []
  const scene = polling(0, {
    isInSequence: true,
    claims: {
      repeatsRows: true,
      fetch: async (query) => {
        queries.push(query)
        if (query.status === 'RETRY') return { rows: [], hold, isCut: false }
        scene.state.refuses = query.limit
        return { rows: Array.from({ length: query.limit }, (_, n) => pending(n + 1)), hold, isCut: false }
      },
    },
  })
  return { ...scene, reads: () => queries.filter(({ status }) => status === 'NEW').length }
}

describe('a page whose rows are all in flight, or behind one that is', () => {
  test('is read again after the interval, or when a row leaves memory', async () => {
    const { poller, runtime, reads } = stalled()
    poller.start()
    await runtime.advance(4_999)
    expect(reads()).toBe(1)
    await runtime.advance(1)
    expect(reads()).toBe(2)
    poller.roomAppeared()
    await runtime.advance(0)
    expect(reads()).toBe(3)
    await poller.stop()
  })

  test('is read again at once if a row left memory during the read', async () => {
    const { poller } = stalled()
    const polled = poller.poll()
    poller.roomAppeared()
    expect(await polled).toBe('FULL')
    expect(await poller.poll()).toBe('SKIPPED')
  })
})
