/**
 * Derives findings for operators from a snapshot: problem, start time, cause, waiting events, advice. Pure.
 *
 * | status | when |
 * |---|---|
 * | DOWN | the start failed; the database does not answer; nodes of another mode use the table |
 * | | another node holds the table exclusively; a statement or a listener call does not finish |
 * | | due events and no progress |
 * | DEGRADED | a statement is blocked; rows are locked; statements wait for a connection; a destination is unavailable; too many keys are held back; the oldest event is old; events are DEAD |
 * | | another node holds all shards that this one should have |
 * | UP | none of these; starting and stopping are only remarks |
 */

import type { ServiceState } from '@waybill/core/internal'
import type { OutboxHealth, OutboxHealthKind } from '../api/outbox-health.ts'
import type { OutboxBacklog } from '../api/outbox-store.ts'
import type { EngineStatus } from '../dispatch/delivery-engine.ts'
import type { ConnectionShortage } from '../loops/engine-connections.ts'
import type { DatabaseTrouble } from './database-watch.ts'
import type { LongCall } from './progress-watch.ts'

/** A reason, or a remark (UP), of a health report. */
export interface OutboxFinding {
  /** Identifies the finding over time, to keep its start time. */
  readonly key: string
  readonly kind: OutboxHealthKind | 'REMARK'
  readonly status: OutboxHealth['status']
  readonly what: string
  readonly hint: string
  readonly waiting: number | null
  /** The start in epoch milliseconds, if it is known better than from the first report. */
  readonly sinceMs?: number
}

/** A destination that refuses deliveries or does not answer. */
export interface AwaitedDestination {
  readonly destination: string
  /** Epoch milliseconds. */
  readonly since: number
  /** The last failure. */
  readonly reason: string
  /** The events of this node known to wait for it. */
  readonly waiting: number
}

/** The delivery of an outbox, as health sees it. Times are monotonic. */
export interface DeliverySnapshot {
  readonly engine: EngineStatus
  readonly unavailable: readonly AwaitedDestination[]
  /** The mode whose nodes use the table; null if this mode's mark may have expired; undefined if all is well. */
  readonly otherMode: string | null | undefined
  /** Undefined if every statement gets a connection soon. */
  readonly shortage: ConnectionShortage | undefined
  readonly longCalls: readonly LongCall[]
  readonly readAtMs: number
  readonly outcomeAtMs: number
}

/** Everything that health depends on at one moment. */
export interface OutboxSnapshot {
  readonly nowMs: number
  readonly monotonicMs: number
  /** The name of the mode: `Outbox.keyed`. */
  readonly mode: string
  readonly state: ServiceState
  /** The reason why start() failed; undefined if it did not. */
  readonly startFailure: string | undefined
  readonly stallAfterMs: number
  readonly database: DatabaseTrouble | undefined
  /** The monotonic start of the oldest statement that is not answered. */
  readonly unansweredSinceMs: number | undefined
  /** Undefined before the first query of the table. */
  readonly table: OutboxBacklog | undefined
  /** Undefined if the mode delivers nothing. */
  readonly delivery: DeliverySnapshot | undefined
}

/** The values of the metric `{prefix}.health`. */
export const severity: Readonly<Record<OutboxHealth['status'], number>> = { UP: 0, DEGRADED: 1, DOWN: 2 }

/** Returns the findings of a snapshot, the worst first. */
export function assessOutbox(snapshot: OutboxSnapshot): readonly OutboxFinding[] {
  const findings = [
    ...stateFindings(snapshot),
    ...databaseFindings(snapshot),
    ...(snapshot.database === undefined ? statementFindings(snapshot) : []),
    ...(snapshot.delivery === undefined ? [] : deliveryFindings(snapshot, snapshot.delivery)),
    ...tableFindings(snapshot),
  ]
  return findings.toSorted((one, other) => severity[other.status] - severity[one.status])
}

/** Returns the worst status among findings. */
export function worstOf(findings: readonly OutboxFinding[]): OutboxHealth['status'] {
  return findings[0]?.status ?? 'UP'
}

function stateFindings({ state, startFailure, mode }: OutboxSnapshot): readonly OutboxFinding[] {
  if (startFailure !== undefined)
    return [
      {
        key: 'start failed',
        kind: 'START_FAILED',
        status: 'DOWN',
        what: `${mode} could not start: ${oneLine(startFailure)}`,
        hint: 'Committed events stay in the table. Fix the cause, then restart the process.',
        waiting: null,
      },
    ]
  return state === 'RUNNING' ? [] : [remark(`${mode} is ${state}.`)]
}

const troubles: Readonly<Record<DatabaseTrouble['kind'], readonly [what: string, hint: string]>> = {
  NO_CONNECTION: [
    'No connection could be obtained: the pool is exhausted, or the database accepts none.',
    'Check the database, then the pool: listeners and requests that hold connections must leave some for the outbox.',
  ],
  NO_ANSWER: ['The database does not answer.', 'Check the database, its locks and the network.'],
  FAILING: ['Every statement fails.', 'Check the database, its permissions and the migrations.'],
}

function databaseFindings(snapshot: OutboxSnapshot): readonly OutboxFinding[] {
  const { database } = snapshot
  if (database === undefined) return []
  const [what, hint] = troubles[database.kind]
  return [
    {
      key: 'database',
      kind: 'DATABASE_UNAVAILABLE',
      status: 'DOWN',
      what: database.error === undefined ? what : `${what} Last failure: ${oneLine(database.error)}`,
      hint: `Committed events stay in the table. ${hint}`,
      waiting: null,
      sinceMs: epochOf(database.sinceMs, snapshot),
    },
  ]
}

/** Longer than a statement of the outbox takes, sweeps over dead tuples included. */
const longStatementMs = 30_000

/** A locked table blocks single statements while lease renewals, on another table, are answered. */
function statementFindings(snapshot: OutboxSnapshot): readonly OutboxFinding[] {
  const { unansweredSinceMs, monotonicMs, stallAfterMs, table } = snapshot
  if (unansweredSinceMs === undefined || monotonicMs - unansweredSinceMs < longStatementMs) return []
  return [
    {
      key: 'statement',
      kind: 'STATEMENT_STALLED',
      status: monotonicMs - unansweredSinceMs > stallAfterMs ? 'DOWN' : 'DEGRADED',
      what: 'A statement of the outbox is not answered, while others are: a lock or a long scan blocks it.',
      hint: 'Find the session that holds the lock, and end it. Committed events stay in the table.',
      waiting: table?.pending ?? null,
      sinceMs: epochOf(unansweredSinceMs, snapshot),
    },
  ]
}

function deliveryFindings(snapshot: OutboxSnapshot, delivery: DeliverySnapshot): readonly OutboxFinding[] {
  if (snapshot.state !== 'RUNNING') return []
  // Without the database the owner of the table is unknown, and nothing can progress.
  const owned = snapshot.database === undefined ? ownershipFindings(snapshot, delivery) : []
  const waiting = delivery.unavailable.map(unavailableFinding)
  const isExplained = snapshot.database !== undefined || owned.some(({ status }) => status === 'DOWN')
  return [
    ...owned,
    ...(snapshot.database === undefined ? shortageFindings(snapshot, delivery) : []),
    ...waiting,
    ...lockFindings(delivery.engine),
    ...saturationFindings(delivery.engine),
    ...(isExplained || waiting.length > 0 ? [] : stallFindings(snapshot, delivery)),
  ]
}

function ownershipFindings(snapshot: OutboxSnapshot, delivery: DeliverySnapshot): readonly OutboxFinding[] {
  const { mode, table } = snapshot
  const { engine, otherMode } = delivery
  const waiting = table?.pending ?? null
  if (otherMode !== undefined)
    return [
      {
        key: 'mode',
        kind: 'MODE_CONFLICT',
        status: 'DOWN',
        what:
          otherMode === null
            ? `${mode} has not renewed its mark on the table in time, so another mode may use it.`
            : `${mode} delivers nothing: nodes of ${otherMode} use its table.`,
        hint: 'Run all nodes in one mode, or give each mode its own table. Delivery resumes by itself.',
        waiting,
      },
    ]
  if (!engine.holdsTable)
    return [
      {
        key: 'table held',
        kind: 'TABLE_HELD',
        status: 'DOWN',
        what: `${mode} delivers nothing: it lost its lease of the table, and another node may hold it.`,
        hint: 'Run one node, or all nodes with Outbox.multiNode or Outbox.keyed. Delivery resumes by itself.',
        waiting,
      },
    ]
  if (engine.shards !== 0) return []
  if (mode !== 'Outbox.leasing') return [remark('This node holds no shard: other nodes deliver.')]
  return [
    {
      key: 'no shards',
      kind: 'NO_SHARDS',
      status: 'DEGRADED',
      what: 'This instance holds none of its partitions: another node leases them.',
      hint: 'Give each instance its own instanceId. After a kill, leases expire by themselves.',
      waiting: null,
    },
  ]
}

function shortageFindings({ nowMs }: OutboxSnapshot, { shortage }: DeliverySnapshot): readonly OutboxFinding[] {
  if (shortage === undefined) return []
  const { waiting, waitingMs } = shortage
  return [
    {
      key: 'shortage',
      kind: 'CONNECTION_SHORTAGE',
      status: 'DEGRADED',
      what: `${waiting} statements of the outbox wait for a connection: the pool is exhausted.`,
      hint: 'Listeners and requests hold its connections. Enlarge the pool, or hold connections for a shorter time.',
      waiting: null,
      sinceMs: nowMs - Math.round(waitingMs),
    },
  ]
}

function unavailableFinding({ destination, since, reason, waiting }: AwaitedDestination): OutboxFinding {
  return {
    key: `destination ${destination}`,
    kind: 'DESTINATION_UNAVAILABLE',
    status: 'DEGRADED',
    what: `Destination ${destination} is unavailable: ${oneLine(reason)}`,
    hint: 'Its events wait without using up attempts, and flow when a probe succeeds. Check the destination.',
    waiting,
    sinceMs: since,
  }
}

function lockFindings({ locked = 0 }: EngineStatus): readonly OutboxFinding[] {
  if (locked === 0) return []
  return [
    {
      key: 'rows locked',
      kind: 'ROWS_LOCKED',
      status: 'DEGRADED',
      what: `${locked} delivered events cannot be marked: other transactions hold locks on their rows.`,
      hint: 'Find the session that holds the locks, and end it. A crash before that delivers these events again.',
      waiting: locked,
    },
  ]
}

function saturationFindings({ isSaturated, heldKeys = 0 }: EngineStatus): readonly OutboxFinding[] {
  if (isSaturated !== true) return []
  return [
    {
      key: 'saturated',
      kind: 'SATURATED',
      status: 'DEGRADED',
      what: `${heldKeys} keys are held back by delayed or dead events, which is the limit: no further rows are read.`,
      hint: 'Fix the cause of the failures, replay or purge dead events, or raise maxHeldKeys.',
      waiting: heldKeys,
    },
  ]
}

function stallFindings(snapshot: OutboxSnapshot, delivery: DeliverySnapshot): readonly OutboxFinding[] {
  const { stallAfterMs, monotonicMs, table } = snapshot
  const { engine, longCalls, readAtMs, outcomeAtMs } = delivery
  const [longest] = longCalls
  if (longest !== undefined)
    return [
      {
        key: 'listener stalled',
        kind: 'LISTENER_STALLED',
        status: 'DOWN',
        what: `${longCalls.length} listener calls do not finish; the longest is ${longest.what}.`,
        hint: "Find out what the listener waits for, and give it a timeout. A restart redelivers the call's event.",
        waiting: longCalls.length,
        sinceMs: epochOf(longest.sinceMs, snapshot),
      },
    ]
  if (table === undefined || table.overdueMs <= stallAfterMs || engine.isSaturated === true) return []
  // Keys held back wait for a retry on purpose; rows in no queue here may belong to another node.
  const isOurs = (engine.isExclusive || engine.queued > 0) && (engine.heldKeys ?? 0) === 0
  const reads = engine.shards === 0 || monotonicMs - readAtMs <= stallAfterMs
  const settles = monotonicMs - outcomeAtMs <= stallAfterMs
  if (settles || (reads && !isOurs)) return []
  return [
    {
      key: 'stalled',
      kind: 'STALLED',
      status: 'DOWN',
      what: reads ? 'Due events are read and none is settled.' : 'Due events are waiting and the table is not read.',
      hint: 'Committed events stay in the table. Take a heap snapshot and the log, then restart the process.',
      waiting: table.pending,
      sinceMs: epochOf(Math.max(outcomeAtMs, reads ? 0 : readAtMs), snapshot),
    },
  ]
}

function tableFindings({ table, stallAfterMs, nowMs, delivery }: OutboxSnapshot): readonly OutboxFinding[] {
  if (table === undefined || delivery === undefined) return []
  const findings: OutboxFinding[] = []
  if (table.oldestAgeMs > stallAfterMs)
    findings.push({
      key: 'backlog',
      kind: 'BACKLOG',
      status: 'DEGRADED',
      what: `The oldest undelivered event is ${Math.round(table.oldestAgeMs / 1_000)} s old; ${table.retrying} events failed and are retried.`,
      hint: 'Listeners fail or are too slow, or too few nodes run. The log and last_error say why events fail.',
      waiting: table.pending,
      sinceMs: nowMs - Math.round(table.oldestAgeMs),
    })
  if (table.dead > 0)
    findings.push({
      key: 'dead',
      kind: 'DEAD_EVENTS',
      status: 'DEGRADED',
      what: `${table.more && table.dead > 1 ? 'At least ' : ''}${table.dead} events are DEAD.`,
      hint: 'Fix the cause, then replay them with createDeadEvents, or purge them.',
      waiting: table.dead,
    })
  return findings
}

function epochOf(sinceMs: number, { nowMs, monotonicMs }: OutboxSnapshot): number {
  return nowMs - Math.round(monotonicMs - sinceMs)
}

function oneLine(text: string): string {
  return text.replace(/\s*\n\s*/g, ' ')
}

function remark(what: string): OutboxFinding {
  return { key: what, kind: 'REMARK', status: 'UP', what, hint: '', waiting: null }
}
