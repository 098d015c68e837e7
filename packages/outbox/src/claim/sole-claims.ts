/**
 * One node reads the table alone, without claiming rows. A lease on the table as a whole makes sure of it (C-80):
 *
 *   start() ──free──▶ HELD ──renewed every third of its time──▶ HELD
 *      │               │ not renewed in time
 *      │               ▼
 *      │             LOST: nothing is fetched, started or written hot ──taken again──▶ HELD
 *      └──taken by another for longer than a lease lasts──▶ SoleNodeError
 *
 * A node that was killed leaves its lease behind: the next start waits until it ends. One that is still renewed then has
 * an owner who lives, and the start is refused.
 *
 * Every lease has a version of its own, and every finish names the one its row was read under: what a node finishes that
 * stood still until another had the table changes nothing (I5, I6). Versions rise by one: a node that has the table back
 * with the next one knows that nobody else had it, and goes on with what it had decided before, after an outage say. Of
 * other modes the version says nothing: their {@link ModeTerm} does.
 */

import { type Database, type Runtime, StateError } from '@waybill/core'
import { SoleNodeError } from '../api/outbox-errors.ts'
import { type OutboxStore, type ShardLease, soleNodeShard } from '../api/outbox-store.ts'
import type { OutboxTelemetry } from '../loops/outbox-telemetry.ts'
import { RepeatedTask } from '../loops/repeated-task.ts'
import { type Claims, nothingFetched } from './claims.ts'
import type { HeldRow, WorkRow } from './held-row.ts'
import type { InFlight } from './in-flight.ts'
import { LeaseHold } from './lease-hold.ts'
import type { ModeTerm } from './mode-term.ts'

export interface SoleClaimsDeps {
  /** How errors call the mode: `Outbox.singleNode`. */
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

/** Short, because a node that starts after a kill waits for it; long against a pause of the event loop. */
const leaseMs = 10_000
const retakeMs = 500

/** The right to the table for as long as nobody else has it, under one lease or several in a row. */
type TableHold = LeaseHold<{ readonly kind: 'TABLE'; lease: ShardLease }>

export function createSoleClaims(deps: SoleClaimsDeps): Claims {
  const { mode, database, store, owner, inFlight, modeTerm, telemetry, runtime } = deps
  const { clock, timers, logger } = runtime
  /** The last one, also when it is over. */
  let table: TableHold | undefined
  let isHeld = false
  let expiry: Disposable | undefined

  /** What rows may be worked on under now; undefined when there is nothing. */
  const current = (): TableHold | undefined => (table?.mayStart(clock.monotonic()) === true ? table : undefined)

  async function take(): Promise<boolean> {
    const sentAt = clock.monotonic()
    const term = modeTerm()
    const [taken] = await database.connection((connection) =>
      store.takeShards(connection, owner, [soleNodeShard], leaseMs),
    )
    if (taken === undefined) return false
    if (table?.term === term && table.fence.lease.version === taken.version - 1n) {
      table.fence.lease = taken
      table.renewed(sentAt)
    } else table = new LeaseHold({ kind: 'TABLE', lease: taken }, leaseMs, sentAt, term)
    isHeld = true
    watchExpiry(table)
    return true
  }

  /** What runs is told when the lease is over, also while the database does not answer. */
  function watchExpiry({ endsAt }: TableHold): void {
    expiry?.[Symbol.dispose]()
    expiry = timers.schedule(Math.max(0, endsAt - clock.monotonic()), lose)
  }

  async function start(signal: AbortSignal): Promise<void> {
    const refusedAt = clock.monotonic() + leaseMs * 1.5
    while (!(await take())) {
      if (clock.monotonic() >= refusedAt) throw new SoleNodeError(mode, await otherOwner())
      logger.info({ mode }, 'Another node had the table to itself; waiting whether its lease ends')
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
      if (!isHeld && (await take())) logger.info({ mode }, "The table is this node's alone again")
    } catch (err) {
      logger.error({ err, mode }, 'Renewing the lease of the table failed; it is tried again')
      if (current() === undefined) lose()
    }
  }

  async function isRenewed(held: TableHold): Promise<boolean> {
    const sentAt = clock.monotonic()
    const { lease } = held.fence
    const [renewed] = await database.connection((connection) => store.renewShards(connection, [lease], leaseMs))
    if (renewed === undefined) return false
    // Lost meanwhile, it stays lost: its listeners were told so.
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
    const why = new StateError('The lease of the table has ended: another node may deliver this row.')
    const rows = [...inFlight.rows()].filter((row): row is HeldRow => row.stage !== 'SETTLING')
    for (const row of rows) row.lose(why)
    telemetry.leaseExpired(rows.length)
    logger.error({ mode, rows: rows.length }, 'The lease of the table is lost; nothing is delivered until it is back')
  }

  async function stop(isBusy: boolean): Promise<void> {
    await renewing.stop()
    expiry?.[Symbol.dispose]()
    if (table === undefined || !isHeld) return
    isHeld = false
    const { lease } = table.fence
    if (isBusy) {
      logger.warn({ mode, leaseMs }, 'A listener does not end: the table stays with this node until its lease ends')
      return
    }
    try {
      await database.connection((connection) => store.releaseShards(connection, [lease]))
    } catch (err) {
      logger.warn({ err, mode }, 'Giving the lease of the table back failed; it ends by itself')
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
      return { rows: await database.connection((connection) => store.pollPending(connection, query)), hold }
    },
    holdNewRows: () => {
      const hold = current()
      return hold === undefined ? null : { hold, lease: null }
    },
    refused: (hold) => {
      if (hold !== table || !isHeld) return
      // Until the database says whose the table is, nothing is started: each delivery would be in vain.
      table.end()
      renewing.hurry()
    },
    modeShut: lose,
    // Nothing was taken, so there is nothing to give back.
    giveBack: async () => {},
  }
}
