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
 */

import type { Database } from '../../database/database.ts'
import { StateError } from '../../errors.ts'
import type { Runtime } from '../../runtime.ts'
import type { HeldRow, Hold, WorkRow } from '../dispatch/held-row.ts'
import type { InFlight } from '../dispatch/in-flight.ts'
import { SoleNodeError } from '../outbox-errors.ts'
import { type OutboxStore, type ShardLease, soleNodeShard } from '../outbox-store.ts'
import type { OutboxTelemetry } from '../outbox-telemetry.ts'
import type { Claims } from './claims.ts'
import { leaseMarginMs } from './lease-hold.ts'
import { RepeatedTask } from './repeated-task.ts'

export interface SoleClaimsDeps {
  /** How errors call the mode: `Outbox.singleNode`. */
  readonly mode: string
  readonly database: Pick<Database<never>, 'connection'>
  readonly store: Pick<OutboxStore, 'pollPending' | 'takeShards' | 'renewShards' | 'releaseShards' | 'shardOwners'>
  /** Unique per process. */
  readonly owner: string
  readonly inFlight: InFlight<WorkRow>
  readonly telemetry: Pick<OutboxTelemetry, 'leaseExpired'>
  readonly runtime: Runtime
}

/** Short, because a node that starts after a kill waits for it; long against a pause of the event loop. */
const leaseMs = 10_000
const retakeMs = 500

export function createSoleClaims(deps: SoleClaimsDeps): Claims {
  const { mode, database, store, owner, inFlight, telemetry, runtime } = deps
  const { clock, timers, logger } = runtime
  let lease: ShardLease | undefined
  let heldSince = Number.NEGATIVE_INFINITY
  const isHeldAt = (nowMs: number): boolean =>
    lease !== undefined && nowMs - heldSince < leaseMs - leaseMarginMs(leaseMs)
  let expiry: Disposable | undefined
  const hold: Hold = { fence: Object.freeze({ kind: 'NONE' }), mayStart: isHeldAt }

  async function take(): Promise<boolean> {
    const sentAt = clock.monotonic()
    const [taken] = await database.connection((connection) =>
      store.takeShards(connection, owner, [soleNodeShard], leaseMs),
    )
    if (taken === undefined) return false
    lease = taken
    holdSince(sentAt)
    return true
  }

  /** What runs is told when the lease is over, also while the database does not answer. */
  function holdSince(sentAt: number): void {
    heldSince = sentAt
    expiry?.[Symbol.dispose]()
    const leftMs = heldSince + leaseMs - leaseMarginMs(leaseMs) - clock.monotonic()
    expiry = timers.schedule(Math.max(0, leftMs), lose)
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
      if (lease !== undefined && !(await isRenewed(lease))) lose()
      if (lease === undefined && (await take())) logger.info({ mode }, "The table is this node's alone again")
    } catch (err) {
      logger.error({ err, mode }, 'Renewing the lease of the table failed; it is tried again')
      if (!isHeldAt(clock.monotonic())) lose()
    }
  }

  async function isRenewed(held: ShardLease): Promise<boolean> {
    const sentAt = clock.monotonic()
    const [renewed] = await database.connection((connection) => store.renewShards(connection, [held], leaseMs))
    if (renewed !== undefined && lease !== undefined) holdSince(sentAt)
    return renewed !== undefined
  }

  function lose(): void {
    if (lease === undefined) return
    lease = undefined
    const why = new StateError('The lease of the table has ended: another node may deliver this row.')
    const rows = [...inFlight.rows()].filter((row): row is HeldRow => row.stage !== 'SETTLING')
    for (const row of rows) row.lose(why)
    telemetry.leaseExpired(rows.length)
    logger.error({ mode, rows: rows.length }, 'The lease of the table is lost; nothing is delivered until it is back')
  }

  async function stop(): Promise<void> {
    await renewing.stop()
    expiry?.[Symbol.dispose]()
    if (lease === undefined) return
    const held = lease
    lease = undefined
    try {
      await database.connection((connection) => store.releaseShards(connection, [held]))
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
      if (!isHeldAt(clock.monotonic())) return { rows: [], hold }
      return { rows: await database.connection((connection) => store.pollPending(connection, query)), hold }
    },
    holdNewRows: () => (isHeldAt(clock.monotonic()) ? { hold, lease: null } : null),
    // Nothing was taken, so there is nothing to give back.
    giveBack: async () => {},
  }
}
