/**
 * The loss audit of a binding, read from its groups' commits. It is positional, so it needs no counter that a crash
 * could lose, and any process can repeat it with a few requests.
 */

import { type Admin, requireAllDone, type TopicResult } from '@waybill/kafka'
import type { AuditRow } from '../api/connector-report.ts'
import { type AuditDifference, auditLedgers } from '../ledger/audit-ledgers.ts'
import { decodeCommitMetadata } from '../ledger/commit-metadata.ts'

/** A topic and the group that reads it. */
export interface AuditedPlace {
  readonly binding: string
  readonly topic: string
  readonly groupId: string
}

type AuditAdmin = Pick<Admin, 'describeTopics' | 'groupOffsets' | 'listOffsets'>

const nothing = { ok: 0n, retried: 0n, dead: 0n, skipped: 0n, holes: 0n, waiting: 0n, waitedOk: 0n, waitedDead: 0n }

/** Reads the audit of one topic and group. A partition without a commit has no row. */
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

/** Returns whether the topic does not exist, as the derived topics of a binding that never started. */
function isMissing(one: TopicResult): boolean {
  return one.outcome === 'FAILED' && one.error.reason === 'UNKNOWN_TOPIC_OR_PARTITION'
}

async function hasCommitted(admin: AuditAdmin, { topic, groupId }: AuditedPlace): Promise<boolean> {
  const offsets = await admin.groupOffsets(groupId)
  return offsets.some((one) => one.topic === topic)
}

/** Builds the row of one partition from its commit and the start of its log. */
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

/** Describes a difference without the position, so that the same difference yields the same finding later. */
function describeDifference({ equation, missing }: AuditDifference): string {
  return missing > 0n
    ? `${missing} records have no outcome and are not waiting (${equation})`
    : `${-missing} outcomes belong to no record that was due (${equation})`
}
