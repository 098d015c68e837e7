/**
 * Exclusive access of one node, which reads the table without claiming rows. A lease on the whole table guards it:
 *
 *   start() ──free──▶ HELD ──renewed every third of its time──▶ HELD
 *      │               │ not renewed in time
 *      │               ▼
 *      │             LOST: nothing is fetched, started or written hot ──taken again──▶ HELD
 *      └──held by another node for longer than a lease lasts──▶ SoleNodeError
 *
 * A killed node leaves its lease behind, so the next start waits until it expires. A lease still renewed by then has a
 * live owner, and the start fails.
 *
 * Every lease has its own version, and every settlement names the one its row was read under. A settlement of a node
 * that was suspended while another held the table therefore changes nothing (I5, I6). Versions rise by one: a node that
 * retakes the table with the next version knows that no other node held it, and continues with its earlier decisions,
 * say after an outage. If one of them was refused, it starts over instead: it delivers that row again, and all behind it
 * (I22). Versions say nothing about other modes: their {@link ModeTerm} does.
 */

import { type Database, type Runtime, StateError } from '@waybill/core'
import { SoleNodeError } from '../api/outbox-errors.ts'
import { type OutboxStore, type ShardLease, soleNodeShard } from '../api/outbox-store.ts'
import type { OutboxTelemetry } from '../loops/outbox-telemetry.ts'
import { isCutAt } from '../loops/read-budget.ts'
import { RepeatedTask } from '../loops/repeated-task.ts'
import { type Claims, nothingFetched } from './claims.ts'
import type { HeldRow, WorkRow } from './held-row.ts'
import type { InFlight } from './in-flight.ts'
import { LeaseHold } from './lease-hold.ts'
import type { ModeTerm } from './mode-term.ts'

export interface SoleClaimsDeps {
  /** The name of the mode in errors: `Outbox.singleNode`. */
  readonly mode: string
  readonly database: Pick<Database<never>, 'connection'>
  readonly store: Pick<OutboxStore, 'pollPending' | 'takeShards' | 'renewShards' | 'releaseShards' | 'shardOwners'>
  /** Unique per process. */
  readonly owner: string
  readonly inFlight: InFlight<WorkRow>
  readonly modeTerm: () => ModeTerm
  readonly telemetry: Pick<OutboxTelemetry, 'leaseExpired'>
  readonly runtime: Runtime
}

/** Short, because a node that starts after a kill waits for it; long compared with a pause of the event loop. */
const leaseMs = 10_000
const retakeMs = 500

/** The hold on the table while no other node takes it, under one lease or several consecutive ones. */
type TableHold = LeaseHold<{ readonly kind: 'TABLE'; lease: ShardLease }>

export function createSoleClaims(deps: SoleClaimsDeps): Claims {
  const { mode, database, store, owner, inFlight, modeTerm, telemetry, runtime } = deps
  const { clock, timers, logger } = runtime
  /** The latest hold, even if it is over. */
  let table: TableHold | undefined
  let isHeld = false
  let expiry: Disposable | undefined

  /** Returns the hold that permits work now, if any. */
  const current = (): TableHold | undefined => (table?.mayStart(clock.monotonic()) === true ? table : undefined)

  async function take(): Promise<boolean> {
    const sentAt = clock.monotonic()
    const term = modeTerm()
    const [taken] = await database.connection((connection) =>
      store.takeShards(connection, owner, [soleNodeShard], leaseMs),
    )
    if (taken === undefined) return false
    if (table?.term === term && !table.isRefused && table.fence.lease.version === taken.version - 1n) {
      table.fence.lease = taken
      table.renewed(sentAt)
    } else table = new LeaseHold({ kind: 'TABLE', lease: taken }, leaseMs, sentAt, term)
    isHeld = true
    watchExpiry(table)
    return true
  }

  /** Aborts running listeners when the lease expires, even while the database does not respond. */
  function watchExpiry({ endsAt }: TableHold): void {
    expiry?.[Symbol.dispose]()
    expiry = timers.schedule(Math.max(0, endsAt - clock.monotonic()), lose)
  }

  async function start(signal: AbortSignal): Promise<void> {
    const refusedAt = clock.monotonic() + leaseMs * 1.5
    while (!(await take())) {
      if (clock.monotonic() >= refusedAt) throw new SoleNodeError(mode, await otherOwner())
      logger.info({ mode }, 'Table held by another node; waiting for its lease to expire')
      await timers.sleep(retakeMs, signal)
    }
    renewing.start()
  }

  async function otherOwner(): Promise<string | undefined> {
    const owners = await database.connection((connection) => store.shardOwners(connection))
    return owners.find(({ shard }) => shard === soleNodeShard)?.owner
  }

  async function renew(): Promise<void> {
    try {
      if (table !== undefined && isHeld && !(await isRenewed(table))) lose()
      if (!isHeld && (await take())) logger.info({ mode }, 'Table lease reacquired')
    } catch (err) {
      logger.error({ err, mode }, 'Table lease renewal failed, retrying')
      if (current() === undefined) lose()
    }
  }

  async function isRenewed(held: TableHold): Promise<boolean> {
    const sentAt = clock.monotonic()
    const { lease } = held.fence
    const [renewed] = await database.connection((connection) => store.renewShards(connection, [lease], leaseMs))
    if (renewed === undefined) return false
    // Once lost it stays lost: its listeners have been aborted.
    if (isHeld) {
      held.renewed(sentAt)
      watchExpiry(held)
    }
    return true
  }

  function lose(): void {
    if (!isHeld) return
    isHeld = false
    table?.end()
    const why = new StateError('The lease of the table expired, so another node may deliver the row.')
    const rows = [...inFlight.rows()].filter((row): row is HeldRow => row.stage !== 'SETTLING')
    for (const row of rows) row.lose(why)
    telemetry.leaseExpired(rows.length)
    logger.error({ mode, rows: rows.length }, 'Table lease lost; delivery paused until it is reacquired')
  }

  async function stop(isBusy: boolean): Promise<void> {
    await renewing.stop()
    expiry?.[Symbol.dispose]()
    if (table === undefined || !isHeld) return
    isHeld = false
    const { lease } = table.fence
    if (isBusy) {
      logger.warn({ mode, leaseMs }, 'Listener still running; table lease left to expire')
      return
    }
    try {
      await database.connection((connection) => store.releaseShards(connection, [lease]))
    } catch (err) {
      logger.warn({ err, mode }, 'Table lease release failed; it expires by itself')
    }
  }

  const renewing = new RepeatedTask(runtime, leaseMs / 3, renew)
  return {
    repeatsRows: true,
    start,
    stop,
    fetch: async (query) => {
      const hold = current()
      if (hold === undefined) return nothingFetched
      const rows = await database.connection((connection) => store.pollPending(connection, query))
      return { rows, hold, isCut: isCutAt(query.maxBytes, rows) }
    },
    holdNewRows: () => {
      const hold = current()
      return hold === undefined ? null : { hold, lease: null }
    },
    refused: (hold) => {
      if (hold !== table || table.isRefused) return
      table.isRefused = true
      if (!isHeld) return
      // Deliveries behind the refused one could not be settled. They start over, under a hold of their own.
      lose()
      renewing.runSoon()
    },
    modeShut: lose,
    // Nothing was claimed, so there is nothing to release.
    releaseRows: async () => {},
  }
}
