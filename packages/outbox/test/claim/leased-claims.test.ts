import type { EventEnvelope } from '@waybill/core'
import type { SqlConnection } from '@waybill/core/internal'
import { RowsLockedError } from '@waybill/outbox/internal'
import { createVirtualRuntime } from '@waybill/sim'
import { expect, test } from 'vitest'
import type { PendingQuery, PendingRow } from '../../src/api/outbox-store.ts'
import { HeldRow, type WorkRow } from '../../src/claim/held-row.ts'
import { InFlight } from '../../src/claim/in-flight.ts'
import { createLeasedClaims } from '../../src/claim/leased-claims.ts'
import { ModeTerm } from '../../src/claim/mode-term.ts'
import { ClaimReleaser } from '../../src/relay/claim-releaser.ts'
import { orderEvent } from '../support/outbox-harness.ts'

const connection: SqlConnection = { query: async () => ({ rows: [], changed: 0 }) }
const query: PendingQuery = { status: 'NEW', limit: 2, maxBytes: 1_000_000, skipRecentMs: 0, floor: null, shards: null }

/** Claims on a table of two rows, and who holds each of them there. The answer to the first claim is lost. */
function scene() {
  const runtime = createVirtualRuntime(1)
  const rows: PendingRow[] = [1n, 2n].map((seq) => {
    const event = orderEvent(Number(seq))
    return { seq, eventId: event.eventId, attempts: 0, bytes: 10, event }
  })
  const holders = new Map<string, bigint | undefined>(rows.map(({ eventId }) => [eventId, undefined]))
  const inFlight = new InFlight<WorkRow>(runtime.clock)
  const locked = new Set<bigint>()
  let isLost = true
  let releaseMs = 0
  let releasesRefused = 0
  const claims = createLeasedClaims({
    database: { connection: (use) => use(connection) },
    store: {
      pollPending: async () => rows,
      async claimPending(_, { version }) {
        await runtime.timers.sleep(5)
        const taken = rows.filter(({ eventId }) => [undefined, version].includes(holders.get(eventId)))
        for (const { eventId } of taken) holders.set(eventId, version)
        if (!isLost) return taken
        isLost = false
        throw new Error('The answer was lost.')
      },
      renew: async (_, held) => {
        if (held.some(({ seq }) => locked.has(seq))) throw new RowsLockedError(undefined)
        return held.map(({ seq }) => seq)
      },
      lockedRows: async () => locked,
      async release(_, given, { version }) {
        await runtime.timers.sleep((releaseMs += 20))
        if (releasesRefused-- > 0) throw new Error('The server is away.')
        for (const { eventId } of given) if (holders.get(eventId) === version) holders.set(eventId, undefined)
        return []
      },
    },
    owner: 'node',
    timeoutMs: 60_000,
    inFlight,
    modeTerm: () => new ModeTerm(),
    telemetry: { leaseExpired() {} },
    runtime,
  })
  /** Takes fetched rows as a poller with room does. */
  const fetchAndHold = async (): Promise<void> => {
    const { rows: fetched, hold } = await claims.fetch(query)
    for (const row of fetched)
      if (row.event !== null)
        inFlight.tryAcquire(row.eventId, new HeldRow(row.seq, row.event, row.attempts, 'COLD', hold))
  }
  return {
    runtime,
    claims,
    inFlight,
    fetchAndHold,
    refuseReleases: (count: number) => void (releasesRefused = count),
    heldInTable: () => rows.filter(({ eventId }) => holders.get(eventId) !== undefined).map(({ eventId }) => eventId),
    ids: rows.map(({ eventId }) => eventId),
    locked,
  }
}

const idsIn = (inFlight: InFlight<WorkRow>): string[] => [...inFlight.rows()].map(({ eventId }) => eventId)

test('I6 a claim is not repeated while rows of its token wait to be given back, however many turns that takes', async () => {
  const { runtime, claims, inFlight, fetchAndHold, heldInTable, ids } = scene()
  const returns = new ClaimReleaser(claims)
  await runtime.run(async () => {
    await expect(claims.fetch(query)).rejects.toThrow('lost')
    // Neither finds room, and their giving back begins in two turns.
    const { rows, hold } = await claims.fetch(query)
    for (const row of rows) {
      returns.add({ ...row, hold })
      await Promise.resolve()
      await Promise.resolve()
    }
    await fetchAndHold()
    await returns.close()
  })
  expect([idsIn(inFlight), heldInTable()]).toEqual([ids, ids])
})

test('I6 what could not be given back is left to the repeat of its claim', async () => {
  const { runtime, claims, inFlight, fetchAndHold, refuseReleases, heldInTable, ids } = scene()
  await runtime.run(async () => {
    await claims.start(new AbortController().signal)
    await expect(claims.fetch(query)).rejects.toThrow('lost')
    const { rows, hold } = await claims.fetch(query)
    refuseReleases(1)
    await claims.releaseRows(rows.map((row) => ({ ...row, hold })))
    await runtime.timers.sleep(4_967) // The claims that are owed are looked at while the next one is under way.
    await fetchAndHold()
    await runtime.timers.sleep(10_000)
    await claims.stop(false)
  })
  expect([idsIn(inFlight), heldInTable()]).toEqual([ids, ids])
})

test('L2 a row that another transaction has locked does not cost the others of its claim their lease', async () => {
  const { runtime, claims, inFlight, fetchAndHold, locked, ids } = scene()
  await runtime.run(async () => {
    await claims.start(new AbortController().signal)
    await expect(claims.fetch(query)).rejects.toThrow('lost')
    await fetchAndHold()
    const rows = [...inFlight.rows()] as HeldRow[]
    for (const row of rows) row.stage = 'RUNNING'
    locked.add(rows[0]?.seq as bigint)
    await runtime.timers.sleep(120_000)
    await claims.stop(false)
    expect(rows.map(({ eventId, isLost }) => [eventId, isLost])).toEqual([
      [ids[0], true],
      [ids[1], false],
    ])
  })
})

test('I24 a claim is repeated once the rows of its token in flight leave the read its size', async () => {
  const { runtime, claims, inFlight, heldInTable, ids } = scene()
  await runtime.run(async () => {
    await expect(claims.fetch(query)).rejects.toThrow('lost')
    const { rows, hold } = await claims.fetch({ ...query, maxBytes: 1_000 })
    const held = rows.map((row) => new HeldRow(row.seq, row.event as EventEnvelope, 0, 'COLD', hold))
    for (const row of held) inFlight.tryAcquire(row.eventId, row, { lane: 'NEW', bytes: 600_000 })
    // The page was full, so the claim is repeated; 1,200,000 bytes of it are in flight, and a read has a million.
    expect(await claims.fetch(query)).toMatchObject({ rows: [], isCut: true })
    const [first] = held
    inFlight.release(first?.eventId ?? '', first as HeldRow)
    expect((await claims.fetch(query)).rows.map(({ eventId }) => eventId)).toEqual(ids)
  })
  expect(heldInTable()).toEqual(ids)
})
