import type { SqlConnection } from '@waybill/core/internal'
import { RowsLockedError } from '@waybill/outbox/internal'
import { createVirtualRuntime } from '@waybill/sim'
import { expect, test } from 'vitest'
import type { PendingQuery, PendingRow, RowRef } from '../../src/api/outbox-store.ts'
import type { FetchedRows } from '../../src/claim/claims.ts'
import { HeldRow, type WorkRow } from '../../src/claim/held-row.ts'
import { InFlight } from '../../src/claim/in-flight.ts'
import { createLeasedClaims } from '../../src/claim/leased-claims.ts'
import { ModeTerm } from '../../src/claim/mode-term.ts'
import { orderEvent } from '../support/outbox-harness.ts'

const connection: SqlConnection = { query: async () => ({ rows: [], changed: 0 }) }
const query: PendingQuery = { status: 'NEW', limit: 2, maxBytes: 1_000, skipRecentMs: 0, floor: null, shards: null }
const timeoutMs = 60_000

type Renewed = (rows: readonly RowRef[]) => Promise<bigint[]>

const renewAll: Renewed = async (given) => given.map(({ seq }) => seq)

/** Claims on a table whose answers the test decides. */
function scene(rowCount: number) {
  const runtime = createVirtualRuntime(1)
  const inFlight = new InFlight<WorkRow>(runtime.clock)
  const rows = Array.from({ length: rowCount }, (_, n): PendingRow => {
    const event = orderEvent(n)
    return { seq: BigInt(n + 1), eventId: event.eventId, attempts: 0, bytes: 10, event }
  })
  const table = {
    claimed: [] as { version: bigint; limit: number; maxBytes: number }[],
    released: [] as number[],
    locked: new Set<bigint>(),
    isAway: false,
    renew: renewAll,
  }
  const refuseIfAway = (): void => {
    if (table.isAway) throw new Error('The server is away.')
  }
  const claims = createLeasedClaims({
    database: { connection: (use) => use(connection) },
    store: {
      pollPending: async () => rows,
      async claimPending(_, { version }, { limit, maxBytes }) {
        table.claimed.push({ version, limit, maxBytes })
        refuseIfAway()
        return rows.slice(0, Math.min(limit, maxBytes / 10))
      },
      async renew(_, given) {
        if (given.some(({ seq }) => table.locked.has(seq))) throw new RowsLockedError(undefined)
        return table.renew(given)
      },
      lockedRows: async () => table.locked,
      async release(_, given) {
        refuseIfAway()
        table.released.push(given.length)
        return []
      },
    },
    owner: 'node',
    timeoutMs,
    inFlight,
    modeTerm: () => new ModeTerm(),
    telemetry: { leaseExpired() {} },
    runtime,
  })
  const hold = ({ rows: fetched, hold: held }: FetchedRows): HeldRow[] =>
    fetched.map(({ seq, event, eventId, bytes }) => {
      const row = new HeldRow(seq, event as never, 0, 'COLD', held)
      row.stage = 'RUNNING'
      inFlight.tryAcquire(eventId, row, { lane: 'NEW', bytes })
      return row
    })
  const loseAnswer = async (asked: PendingQuery): Promise<void> => {
    table.isAway = true
    await expect(claims.fetch(asked)).rejects.toThrow('away')
    table.isAway = false
  }
  return { runtime, claims, inFlight, table, hold, loseAnswer }
}

const versionsOf = (claimed: readonly { version: bigint }[]): number => new Set(claimed.map((one) => one.version)).size

test('a repeated claim has room for the rows of its token that are in flight', async () => {
  const { runtime, claims, table, hold, loseAnswer } = scene(9)
  await runtime.run(async () => {
    await loseAnswer(query)
    hold(await claims.fetch(query))
    await claims.fetch(query)
  })
  expect(table.claimed.map(({ limit, maxBytes }) => [limit, maxBytes])).toEqual([
    [2, 1_000],
    [2, 1_000],
    [4, 1_020],
  ])
  expect(versionsOf(table.claimed)).toBe(1)
})

test('a claim is repeated after a page that was cut by its bytes, and not after one that was neither cut nor full', async () => {
  const { runtime, claims, table, loseAnswer } = scene(3)
  await runtime.run(async () => {
    await loseAnswer({ ...query, limit: 9, maxBytes: 20 })
    await claims.fetch({ ...query, limit: 9, maxBytes: 20 })
    await claims.fetch({ ...query, limit: 9 })
    expect(versionsOf(table.claimed)).toBe(1)
    await claims.fetch({ ...query, limit: 9 })
    expect(versionsOf(table.claimed)).toBe(2)
  })
})

test('wanted rows that their size left out of a claim are on the next page', async () => {
  const { runtime, claims } = scene(3)
  await runtime.run(async () => {
    expect(await claims.fetch({ ...query, limit: 9, maxBytes: 20 }, () => true)).not.toHaveProperty('scanned')
    expect(await claims.fetch({ ...query, limit: 9 }, () => true)).toMatchObject({
      scanned: { last: 3n, isFull: false },
    })
  })
})

test('a claim that got no answer is repeated, even if none of its rows is wanted any more', async () => {
  const { runtime, claims, table, loseAnswer } = scene(2)
  await runtime.run(async () => {
    await loseAnswer(query)
    await claims.fetch(query, () => false)
  })
  expect([table.claimed.length, versionsOf(table.claimed)]).toEqual([2, 1])
})

test('I6 a row that is in flight again is not released, though its release got no answer', async () => {
  const { runtime, claims, table, hold, loseAnswer } = scene(2)
  await runtime.run(async () => {
    await claims.start(new AbortController().signal)
    await loseAnswer(query)
    const fetched = await claims.fetch(query)
    table.isAway = true
    await claims.releaseRows(fetched.rows.map((row) => ({ ...row, hold: fetched.hold })))
    table.isAway = false
    hold(await claims.fetch({ ...query, limit: 9 })) // The last page of the repeated claim.
    await runtime.timers.sleep(20_000)
    await claims.stop(false)
  })
  expect(table.released).toEqual([])
})

test('at most 10,000 claims whose release failed are remembered', async () => {
  const { runtime, claims, table } = scene(0)
  const { hold } = claims.holdNewRows() as NonNullable<ReturnType<typeof claims.holdNewRows>>
  const rows = Array.from({ length: 10_400 }, (_, n) => ({ seq: BigInt(n), eventId: `event-${n}`, hold }))
  await runtime.run(async () => {
    await claims.start(new AbortController().signal)
    table.isAway = true
    await claims.releaseRows(rows)
    table.isAway = false
    await runtime.timers.sleep(10_000)
    await claims.stop(false)
  })
  expect(table.released.reduce((sum, count) => sum + count, 0)).toBe(10_000)
})

test('I6 a row whose renewal fails is lost with its lease, though others of its claim are renewed', async () => {
  const { runtime, claims, table, hold } = scene(501)
  await runtime.run(async () => {
    await claims.start(new AbortController().signal)
    const rows = hold(await claims.fetch({ ...query, limit: 600, maxBytes: 10_000 }))
    const last = rows.at(-1) as HeldRow
    table.renew = async (given) => {
      if (given.some(({ seq }) => seq === last.seq)) throw new Error('The server is away.')
      return renewAll(given)
    }
    await runtime.timers.sleep(2 * timeoutMs)
    await claims.stop(false)
    expect(last.isLost).toBe(true)
  })
})

test('a row that is adopted by a newer claim during the renewal of its former one is not lost', async () => {
  const { runtime, claims, table, hold } = scene(1)
  await runtime.run(async () => {
    await claims.start(new AbortController().signal)
    const [row] = hold(await claims.fetch(query)) as [HeldRow]
    table.renew = async () => {
      table.renew = renewAll
      row.adopt({ attempts: 0, hold: (await claims.fetch(query)).hold })
      return []
    }
    await runtime.timers.sleep(timeoutMs)
    await claims.stop(false)
    expect(row.isLost).toBe(false)
  })
})

test('L2 a row that is locked during a renewal keeps its lease until that ends', async () => {
  const { runtime, claims, table, hold } = scene(2)
  await runtime.run(async () => {
    await claims.start(new AbortController().signal)
    const [row] = hold(await claims.fetch(query)) as [HeldRow]
    table.locked.add(row.seq)
    await runtime.timers.sleep(45_000)
    expect(row.isLost).toBe(false)
    table.locked.clear()
    await runtime.timers.sleep(timeoutMs)
    expect(row.isLost).toBe(false)
    await claims.stop(false)
  })
})
