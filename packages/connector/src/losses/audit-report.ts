/**
 * The loss audit of a binding, read from what its groups have committed (D22): positional, so it needs no counter that a
 * crash could lose, and anybody can repeat it with one request.
 */

import { type Admin, requireAllDone, type TopicResult } from '@waybill/kafka'
import type { AuditRow } from '../api/connector-report.ts'
import { type AuditDifference, auditLedgers } from '../ledger/audit-ledgers.ts'
import { decodeCommitMetadata } from '../ledger/commit-metadata.ts'

/** Which topic is read by which group. */
export interface AuditedPlace {
  readonly binding: string
  readonly topic: string
  readonly groupId: string
}

type AuditAdmin = Pick<Admin, 'describeTopics' | 'groupOffsets' | 'listOffsets'>

const nothing = { ok: 0n, retried: 0n, dead: 0n, skipped: 0n, holes: 0n, waiting: 0n, waitedOk: 0n, waitedDead: 0n }

/** Reads the audit of one place. A partition of which nothing was ever committed has no row. */
export async function readAudit(place: AuditedPlace, admin: AuditAdmin): Promise<readonly AuditRow[]> {
  const { topic, groupId } = place
  const described = await admin.describeTopics([topic])
  if (described.some(isMissing) && !(await hasCommitted(admin, place))) return []
  const [view] = requireAllDone(`Describing ${topic}`, described)
  const partitions = view?.partitions.map(({ partition }) => ({ topic, partition })) ?? []
  const offsets = requireAllDone(`Reading the offsets of ${groupId}`, await admin.groupOffsets(groupId, partitions))
  const starts = requireAllDone(`Reading the log starts of ${topic}`, await admin.listOffsets(partitions, 'EARLIEST'))
  const startOf = new Map(starts.map(({ partition, offset }) => [partition, offset ?? 0n]))
  return offsets.flatMap(({ partition, committed, metadata }) =>
    committed === null ? [] : [auditRow(place, partition, { committed, metadata }, startOf.get(partition) ?? 0n)],
  )
}

/** A binding that never started has no topics of its own yet. What was read before and is gone is another matter. */
function isMissing(one: TopicResult): boolean {
  return one.outcome === 'FAILED' && one.error.reason === 'UNKNOWN_TOPIC_OR_PARTITION'
}

async function hasCommitted(admin: AuditAdmin, { topic, groupId }: AuditedPlace): Promise<boolean> {
  const offsets = await admin.groupOffsets(groupId)
  return offsets.some((one) => one.topic === topic)
}

/** One row, from what is committed and where the log begins. */
export function auditRow(
  place: AuditedPlace,
  partition: number,
  { committed, metadata }: { readonly committed: bigint; readonly metadata: string | null },
  logStart: bigint,
): AuditRow {
  const read = decodeCommitMetadata({ offset: committed, metadata })
  const missing = logStart > committed ? logStart - committed : 0n
  const known = { ...place, partition, committed, missing }
  if ('problem' in read)
    return { ...known, ...nothing, since: committed, settledAbove: 0n, problem: read.problem, moved: undefined }
  const { since, counts, settledAbove, moved } = read.source
  const [difference] = auditLedgers(read.source, read.waiting)
  return {
    ...known,
    ...counts,
    since,
    settledAbove: BigInt(settledAbove.size),
    waiting: read.waiting?.waitingNow ?? 0n,
    waitedOk: read.waiting?.counts.ok ?? 0n,
    waitedDead: read.waiting?.counts.dead ?? 0n,
    problem: difference && describeDifference(difference),
    moved,
  }
}

/** Without a number that moves on with the position: a difference that stays the same is the same finding. */
function describeDifference({ equation, missing }: AuditDifference): string {
  return missing > 0n
    ? `${missing} records have no outcome and do not wait (${equation})`
    : `${-missing} outcomes are of no record that was due (${equation})`
}
