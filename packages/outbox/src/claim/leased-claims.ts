/**
 * Rows are claimed each for themselves, so any number of nodes shares the table.
 *
 *   claimed ──half of the time over──▶ renewed, in batches ──▶ …
 *      │                                  │ not held any more, or no answer until the lease is over
 *      ▼                                  ▼
 *   finished under its fence           lost: not started, or its listener is told
 */

import { type Database, type Runtime, StateError } from '@waybill/core'
import type { LeaseFence, LeaseToken, OutboxStore, PendingQuery, RowLease } from '../api/outbox-store.ts'
import type { OutboxTelemetry } from '../loops/outbox-telemetry.ts'
import { RepeatedTask } from '../loops/repeated-task.ts'
import type { ClaimedRow, Claims, FetchedRows, NewRowsHold } from './claims.ts'
import type { HeldRow, Hold, WorkRow } from './held-row.ts'
import type { InFlight } from './in-flight.ts'
import { LeaseHold, leaseMarginMs } from './lease-hold.ts'
import { createLeaseVersions } from './lease-versions.ts'
import type { ModeTerm } from './mode-term.ts'

export interface LeasedClaimsDeps {
  readonly database: Pick<Database<never>, 'connection'>
  readonly store: Pick<OutboxStore, 'claimPending' | 'renew' | 'release'>
  /** Unique per process. */
  readonly owner: string
  readonly timeoutMs: number
  readonly inFlight: InFlight<WorkRow>
  readonly modeTerm: () => ModeTerm
  readonly telemetry: Pick<OutboxTelemetry, 'leaseExpired'>
  readonly runtime: Runtime
}

type TokenFence = LeaseFence & LeaseToken

/** Rows of one statement. */
const batchSize = 500
/** How many looks at the leases there are in the time of one. */
const looksPerLease = 8
/** A look costs a walk over the rows in flight, and what is owed to others should not wait for minutes. */
const longestTickMs = 5_000
/** Beyond it the oldest claims are left to end by themselves. */
const maxOwed = 10_000

export function createLeasedClaims(deps: LeasedClaimsDeps): Claims {
  const { database, store, owner, timeoutMs, inFlight, modeTerm, telemetry, runtime } = deps
  const { clock, logger } = runtime
  const nextVersion = createLeaseVersions(runtime)
  const lookEveryMs = Math.max(1, Math.min(longestTickMs, timeoutMs / looksPerLease))
  const newFence = (): TokenFence => Object.freeze({ kind: 'LEASE', owner, version: nextVersion() })
  // One for all rows that are inserted claimed, so that their finishes share statements. A row that was taken from this
  // process is claimed with another version, by whomever.
  const hotFence = newFence()
  const hotLease: RowLease = Object.freeze({ owner, version: hotFence.version, timeoutMs })

  // A claim without an answer may have taken rows (D9). Repeated with the same token it answers them, freshly locked; with
  // another they would wait until the lease of the first runs out. It is repeated until a page is not full, and with no
  // smaller limit, so that none is left behind; what finds no room is given back. It also answers those that are in
  // flight here by now, so the limit leaves room for them.
  const unanswered = new Map<PendingQuery['status'], { readonly fence: TokenFence; readonly limit: number }>()

  async function fetch(query: PendingQuery): Promise<FetchedRows> {
    const repeated = unanswered.get(query.status)
    // What is being given back under this token must not be taken by it in the same moment.
    if (repeated !== undefined) while (givingBack !== undefined) await givingBack
    const fence = repeated?.fence ?? newFence()
    const unheld = Math.max(query.limit, repeated?.limit ?? 0)
    const limit = unheld + (repeated === undefined ? 0 : inFlightUnder(fence))
    const hold = new LeaseHold(fence, timeoutMs, clock.monotonic(), modeTerm())
    unanswered.set(query.status, { fence, limit: unheld })
    const rows = await database.connection((connection) =>
      store.claimPending(connection, { ...fence, timeoutMs }, { ...query, limit }),
    )
    if (repeated === undefined || rows.length < limit) unanswered.delete(query.status)
    return { rows, hold }
  }

  function inFlightUnder(fence: TokenFence): number {
    let count = 0
    for (const { hold } of inFlight.rows()) if (hold.fence === fence) count++
    return count
  }

  function holdNewRows(): NewRowsHold {
    return { hold: new LeaseHold(hotFence, timeoutMs, clock.monotonic(), modeTerm()), lease: hotLease }
  }

  async function renewOld(): Promise<void> {
    const now = clock.monotonic()
    // No copy of all rows first: there may be ten thousands, of which few are old.
    const old: HeldRow[] = []
    for (const row of inFlight.rows())
      if (row.stage !== 'SETTLING' && !row.isLost && row.hold instanceof LeaseHold && row.hold.isOld(now)) old.push(row)
    if (old.length === 0) return
    // A statement that gets no answer at all must not keep listeners from being told, before others may have the rows.
    const expiring = new RepeatedTask(runtime, leaseMarginMs(timeoutMs) / 2, async () => loseExpired())
    expiring.start()
    try {
      for (const [fence, rows] of byFence(old)) await renew(fence, rows)
    } finally {
      await expiring.stop()
    }
  }

  function loseExpired(): void {
    const now = clock.monotonic()
    const isExpired = (row: WorkRow): row is HeldRow =>
      row.stage === 'RUNNING' && !row.isLost && !row.hold.mayStart(now)
    lose([...inFlight.rows()].filter(isExpired))
  }

  /** The rows' own leases may last, but another mode does not look at them. */
  function modeShut(): void {
    lose([...inFlight.rows()].filter((row): row is HeldRow => row.stage !== 'SETTLING' && !row.isLost))
  }

  async function renew(fence: TokenFence, rows: readonly HeldRow[]): Promise<void> {
    const sentAt = clock.monotonic()
    const held = new Set<bigint>()
    const inDoubt = new Set<HeldRow>()
    for (const part of inParts(rows))
      try {
        const answer = await database.connection((connection) => store.renew(connection, part, { ...fence, timeoutMs }))
        for (const seq of answer) held.add(seq)
      } catch (err) {
        for (const row of part) inDoubt.add(row)
        logger.error({ err, rows: part.length }, 'Renewing leases failed; it is tried again while they last')
      }
    // A hold is as young as the oldest of its rows.
    const holdsInDoubt = new Set([...inDoubt].map(({ hold }) => hold))
    for (const { seq, hold } of rows) if (held.has(seq) && !holdsInDoubt.has(hold)) (hold as LeaseHold).renewed(sentAt)
    const now = clock.monotonic()
    const isLost = (row: HeldRow): boolean => (inDoubt.has(row) ? !row.hold.mayStart(now) : !held.has(row.seq))
    // Settled meanwhile, a row is not lost: its own finish has ended the lease. Adopted meanwhile, it has another one.
    lose(rows.filter((row) => row.stage !== 'SETTLING' && !row.isLost && row.hold.fence === fence && isLost(row)))
  }

  function lose(rows: readonly HeldRow[]): void {
    if (rows.length === 0) return
    const why = new StateError('The lease of the row has ended: another node may have it.', {
      impact: 'The event is delivered, by this node or another.',
    })
    for (const row of rows) row.lose(why)
    telemetry.leaseExpired(rows.length)
    logger.warn({ rows: rows.length }, 'Leases were lost: other nodes may deliver these rows')
  }

  /** Claims whose giving back failed: tried again as long as they last. */
  let owed: ClaimedRow[] = []

  /** Rows that are to be given back, and the work of it while there are any. */
  const returned: ClaimedRow[] = []
  let givingBack: Promise<void> | undefined

  function giveBack(rows: readonly ClaimedRow[]): Promise<void> {
    for (const row of rows) returned.push(row)
    return (givingBack ??= giveAllBack())
  }

  async function giveAllBack(): Promise<void> {
    await Promise.resolve() // What is given up in this turn goes together.
    while (returned.length > 0) await release(returned.splice(0))
    givingBack = undefined
  }

  async function release(rows: readonly ClaimedRow[]): Promise<void> {
    for (const [fence, held] of byFence(rows))
      for (const part of inParts(held))
        try {
          await database.connection((connection) => store.release(connection, part, fence))
        } catch (err) {
          owed = [...owed, ...part].slice(-maxOwed)
          logger.warn({ err, rows: part.length }, 'Giving leases back failed; it is tried again until they end')
        }
  }

  async function giveBackOwed(): Promise<void> {
    if (owed.length === 0) return
    const now = clock.monotonic()
    const repeatable = new Set([...unanswered.values()].map(({ fence }) => fence))
    const isRepeated = ({ hold }: ClaimedRow): boolean => repeatable.has(hold.fence as TokenFence)
    // The first try may have gone through after all, and the row may be in flight again since.
    const lasting = owed.filter(
      ({ eventId, hold }) => hold instanceof LeaseHold && hold.lasts(now) && inFlight.holderOf(eventId) === undefined,
    )
    // A claim that is repeated answers what its token holds: to give that back meanwhile would take it from this node.
    owed = lasting.filter(isRepeated)
    const rows = lasting.filter((row) => !isRepeated(row))
    if (rows.length > 0) await giveBack(rows)
  }

  const tick = async (): Promise<void> => {
    await renewOld()
    await giveBackOwed()
  }

  const renewing = new RepeatedTask(runtime, lookEveryMs, tick)
  return {
    repeatsRows: false,
    start: async () => renewing.start(),
    stop: () => renewing.stop(),
    fetch,
    holdNewRows,
    refused: () => {}, // It is the one row that another node has.
    modeShut,
    giveBack,
  }
}

function byFence<R extends { readonly hold: Hold }>(rows: readonly R[]): Map<TokenFence, R[]> {
  return Map.groupBy(rows, ({ hold }) => hold.fence as TokenFence)
}

function* inParts<R>(rows: readonly R[]): Generator<readonly R[]> {
  for (let at = 0; at < rows.length; at += batchSize) yield rows.slice(at, at + batchSize)
}
