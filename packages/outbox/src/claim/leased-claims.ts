/**
 * Claims each row individually, so any number of nodes can share the table.
 *
 *   claimed ──half of the time over──▶ renewed, in batches ──▶ …
 *      │                                  │ no longer held, or no response until the lease expires
 *      ▼                                  ▼
 *   settled under its fence            lost: not started, or its listener is aborted
 */

import { type Database, type Runtime, StateError } from '@waybill/core'
import { RowsLockedError } from '../api/outbox-errors.ts'
import type { LeaseFence, LeaseToken, OutboxStore, PendingQuery, ReadLimits, RowLease } from '../api/outbox-store.ts'
import type { OutboxTelemetry } from '../loops/outbox-telemetry.ts'
import { isCutAt } from '../loops/read-budget.ts'
import { RepeatedTask } from '../loops/repeated-task.ts'
import {
  type ClaimedRow,
  type Claims,
  type FetchedRows,
  type IsWanted,
  type NewRowsHold,
  nothingFetched,
} from './claims.ts'
import type { HeldRow, Hold, WorkRow } from './held-row.ts'
import type { InFlight } from './in-flight.ts'
import { LeaseHold, leaseMarginMs } from './lease-hold.ts'
import { createLeaseVersions } from './lease-versions.ts'
import type { ModeTerm } from './mode-term.ts'
import { wantedRows } from './wanted-rows.ts'

export interface LeasedClaimsDeps {
  readonly database: Pick<Database<never>, 'connection'>
  readonly store: Pick<OutboxStore, 'pollPending' | 'claimPending' | 'renew' | 'release' | 'lockedRows'>
  /** Unique per process. */
  readonly owner: string
  readonly timeoutMs: number
  readonly inFlight: InFlight<WorkRow>
  readonly modeTerm: () => ModeTerm
  readonly telemetry: Pick<OutboxTelemetry, 'leaseExpired'>
  readonly runtime: Runtime
}

type TokenFence = LeaseFence & LeaseToken

/** Rows per statement. */
const batchSize = 500
/** Checks of the leases per lease duration. */
const checksPerLease = 8
/**
 * The upper bound of the check interval. A check iterates all rows in flight, but unreleased rows should not wait
 * minutes.
 */
const longestTickMs = 5_000
const nothingHeld: ReadLimits = { limit: 0, maxBytes: 0 }
/** The limit of claims to release again. Beyond it the oldest expire by themselves. */
const maxUnreleased = 10_000

export function createLeasedClaims(deps: LeasedClaimsDeps): Claims {
  const { database, store, owner, timeoutMs, inFlight, modeTerm, telemetry, runtime } = deps
  const { clock, timers, logger } = runtime
  const nextVersion = createLeaseVersions(runtime)
  const checkEveryMs = Math.max(1, Math.min(longestTickMs, timeoutMs / checksPerLease))
  const newFence = (): TokenFence => Object.freeze({ kind: 'LEASE', owner, version: nextVersion() })
  // One fence for all rows inserted as claimed, so that their settlements share statements. Any later claim of such a
  // row, by this process or another, has another version.
  const hotFence = newFence()
  const hotLease: RowLease = Object.freeze({ owner, version: hotFence.version, timeoutMs })

  // A claim without a response may have taken rows. Repeated with the same token it returns them with fresh locks; with
  // another token they would wait for the first lease to expire. It is repeated until a page is not full, with at least
  // the same limits, so that no row is left behind; rows without room are released. The limits also leave room for rows
  // in flight here, which are returned again.
  const unanswered = new Map<PendingQuery['status'], ReadLimits & { readonly fence: TokenFence }>()

  async function fetch(query: PendingQuery, isWanted?: IsWanted): Promise<FetchedRows> {
    // Retries have no floor, and a claim without a response is repeated as it was.
    if (isWanted === undefined || query.status === 'RETRY' || unanswered.has(query.status)) return claim(query)
    const wanted = wantedRows(
      await database.connection((connection) => store.pollPending(connection, query)),
      query,
      isWanted,
    )
    if (wanted.query === undefined) return { ...nothingFetched, scanned: wanted.scanned }
    const claimed = await claim(wanted.query)
    // Wanted rows that were left out because of their size are on the next page.
    return claimed.isCut ? claimed : { ...claimed, scanned: wanted.scanned }
  }

  async function claim(query: PendingQuery): Promise<FetchedRows> {
    const repeated = unanswered.get(query.status)
    // A repeated claim must not race with a release under the same token.
    if (repeated !== undefined) while (releasing !== undefined) await releasing
    const fence = repeated?.fence ?? newFence()
    const unheld = {
      limit: Math.max(query.limit, repeated?.limit ?? 0),
      maxBytes: Math.max(query.maxBytes, repeated?.maxBytes ?? 0),
    }
    const held = repeated === undefined ? nothingHeld : inFlightUnder(fence)
    const hold = new LeaseHold(fence, timeoutMs, clock.monotonic(), modeTerm())
    // Rows in flight are read again: wait until they are at most as much as a page, which bounds the read (I24).
    if (held.maxBytes > unheld.maxBytes) return { rows: [], hold, isCut: true }
    const limit = unheld.limit + held.limit
    const maxBytes = unheld.maxBytes + held.maxBytes
    unanswered.set(query.status, { fence, ...unheld })
    const rows = await database.connection((connection) =>
      store.claimPending(connection, { ...fence, timeoutMs }, { ...query, limit, maxBytes }),
    )
    const isCut = isCutAt(maxBytes, rows)
    if (repeated === undefined || (rows.length < limit && !isCut)) unanswered.delete(query.status)
    return { rows, hold, isCut }
  }

  function inFlightUnder(fence: TokenFence): ReadLimits {
    let limit = 0
    let maxBytes = 0
    for (const { row, bytes } of inFlight.holders())
      if (row.hold.fence === fence) {
        limit++
        maxBytes += bytes
      }
    return { limit, maxBytes }
  }

  function holdNewRows(): NewRowsHold {
    return { hold: new LeaseHold(hotFence, timeoutMs, clock.monotonic(), modeTerm()), lease: hotLease }
  }

  let expiry: Disposable | undefined

  async function renewOld(): Promise<void> {
    const now = clock.monotonic()
    // Avoid a copy of all rows: there may be tens of thousands, few of them old.
    const old: HeldRow[] = []
    for (const row of inFlight.rows())
      if (row.stage !== 'SETTLING' && !row.isLost && row.hold instanceof LeaseHold && row.hold.isOld(now)) old.push(row)
    if (old.length === 0) return
    // A statement without a response must not delay the abort of listeners past the expiry.
    const expiring = new RepeatedTask(runtime, leaseMarginMs(timeoutMs) / 2, async () => loseExpired())
    expiring.start()
    try {
      for (const [fence, rows] of byFence(old)) await renew(fence, rows)
    } finally {
      await expiring.stop()
    }
    // Those that were not renewed may end before the next check.
    const endsAt = old.reduce(
      (earliest, { hold }) => Math.min(earliest, (hold as LeaseHold).endsAt),
      Number.POSITIVE_INFINITY,
    )
    expiry?.[Symbol.dispose]()
    expiry = timers.schedule(Math.max(0, endsAt - clock.monotonic()), loseExpired)
  }

  function loseExpired(): void {
    const now = clock.monotonic()
    const isExpired = (row: WorkRow): row is HeldRow =>
      row.stage === 'RUNNING' && !row.isLost && !row.hold.mayStart(now)
    lose([...inFlight.rows()].filter(isExpired))
  }

  /** Loses all rows: their leases may last, but another mode ignores them. */
  function modeShut(): void {
    lose([...inFlight.rows()].filter((row): row is HeldRow => row.stage !== 'SETTLING' && !row.isLost))
  }

  async function renew(fence: TokenFence, rows: readonly HeldRow[]): Promise<void> {
    const sentAt = clock.monotonic()
    const held = new Set<bigint>()
    const inDoubt = new Set<HeldRow>()
    for (const part of inParts(rows))
      try {
        for (const seq of await renewUnlocked(fence, part, inDoubt)) held.add(seq)
      } catch (err) {
        for (const row of part) inDoubt.add(row)
        logger.error({ err, rows: part.length }, 'Lease renewal failed, retrying until expiry')
      }
    // A hold is only as fresh as the oldest of its rows.
    const holdsInDoubt = new Set([...inDoubt].map(({ hold }) => hold))
    for (const { seq, hold } of rows) if (held.has(seq) && !holdsInDoubt.has(hold)) (hold as LeaseHold).renewed(sentAt)
    const now = clock.monotonic()
    const isLost = (row: HeldRow): boolean => (inDoubt.has(row) ? !row.hold.mayStart(now) : !held.has(row.seq))
    // A row settled in the meantime is not lost: its settlement ended the lease. An adopted one has a new lease.
    lose(rows.filter((row) => row.stage !== 'SETTLING' && !row.isLost && row.hold.fence === fence && isLost(row)))
  }

  /** Renews the rows, except those that other transactions have locked, which must not cost the others their lease. */
  async function renewUnlocked(fence: TokenFence, rows: readonly HeldRow[], inDoubt: Set<HeldRow>): Promise<bigint[]> {
    const send = (some: readonly HeldRow[]): Promise<bigint[]> =>
      database.connection((connection) => store.renew(connection, some, { ...fence, timeoutMs }))
    try {
      return await send(rows)
    } catch (error) {
      if (!(error instanceof RowsLockedError)) throw error
      const locked = await database.connection((connection) => store.lockedRows(connection, rows))
      const renewed = await send(rows.filter(({ seq }) => !locked.has(seq)))
      for (const row of rows) {
        if (!locked.has(row.seq)) continue
        inDoubt.add(row)
        row.adopt({ attempts: row.attempts, hold: (row.hold as LeaseHold).copy() })
      }
      return renewed
    }
  }

  function lose(rows: readonly HeldRow[]): void {
    if (rows.length === 0) return
    const why = new StateError('The lease of the row expired, so another node may take it.', {
      impact: 'The event stays in the outbox and is delivered by this node or another.',
    })
    for (const row of rows) row.lose(why)
    telemetry.leaseExpired(rows.length)
    logger.warn({ rows: rows.length }, 'Leases expired; rows may be delivered by another node')
  }

  /** Claims whose release failed; retried until they expire. */
  let unreleased: ClaimedRow[] = []

  /** Rows waiting to be released, and the loop that releases them. */
  const releaseQueue: ClaimedRow[] = []
  let releasing: Promise<void> | undefined

  function releaseRows(rows: readonly ClaimedRow[]): Promise<void> {
    for (const row of rows) releaseQueue.push(row)
    return (releasing ??= releaseQueued())
  }

  async function releaseQueued(): Promise<void> {
    await Promise.resolve() // Batch the rows released in this turn.
    while (releaseQueue.length > 0) await release(releaseQueue.splice(0))
    releasing = undefined
  }

  async function release(rows: readonly ClaimedRow[]): Promise<void> {
    for (const [fence, held] of byFence(rows))
      for (const part of inParts(held))
        try {
          await database.connection((connection) => store.release(connection, part, fence))
        } catch (err) {
          unreleased = [...unreleased, ...part].slice(-maxUnreleased)
          logger.warn({ err, rows: part.length }, 'Lease release failed, retrying until expiry')
        }
  }

  async function retryReleases(): Promise<void> {
    if (unreleased.length === 0) return
    const now = clock.monotonic()
    const repeatable = new Set([...unanswered.values()].map(({ fence }) => fence))
    const isRepeated = ({ hold }: ClaimedRow): boolean => repeatable.has(hold.fence as TokenFence)
    // The first attempt may have succeeded without a response, and the row may be in flight again.
    const lasting = unreleased.filter(
      ({ eventId, hold }) => hold instanceof LeaseHold && hold.lasts(now) && inFlight.holderOf(eventId) === undefined,
    )
    // A repeated claim returns the rows its token holds; releasing them in the meantime would take them from this node.
    unreleased = lasting.filter(isRepeated)
    const rows = lasting.filter((row) => !isRepeated(row))
    if (rows.length > 0) await releaseRows(rows)
  }

  const tick = async (): Promise<void> => {
    await renewOld()
    await retryReleases()
  }

  const renewing = new RepeatedTask(runtime, checkEveryMs, tick)
  return {
    repeatsRows: false,
    start: async () => renewing.start(),
    stop: async () => {
      await renewing.stop()
      expiry?.[Symbol.dispose]()
    },
    fetch,
    holdNewRows,
    refused: () => {}, // Only this one row has another owner.
    modeShut,
    releaseRows,
  }
}

function byFence<R extends { readonly hold: Hold }>(rows: readonly R[]): Map<TokenFence, R[]> {
  return Map.groupBy(rows, ({ hold }) => hold.fence as TokenFence)
}

function* inParts<R>(rows: readonly R[]): Generator<readonly R[]> {
  for (let at = 0; at < rows.length; at += batchSize) yield rows.slice(at, at + batchSize)
}
