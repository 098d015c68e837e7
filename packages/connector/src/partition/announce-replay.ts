import type { EngineEvents } from '@waybill/core'
import { engineChannel, originalHeader } from '@waybill/core/internal'
import type { ResolvedBinding } from '../binding/resolved-binding.ts'
import type { Batch } from '../delivery/batch.ts'
import type { Outcome } from '../delivery/outcome.ts'
import type { Work } from '../delivery/work.ts'
import { headersOf } from '../records/record-headers.ts'
import { hasEngineHeaders, readTrail } from '../records/trail.ts'

const replaySettled = engineChannel('replay:settled')

/** Publishes the outcome of a copy that an operation wrote. Without subscribers no header is read. */
export function announceReplay(
  { record, kind, groupId }: Pick<Work, 'record' | 'kind' | 'groupId'>,
  outcome: Exclude<Outcome['kind'], 'PAUSE'>,
  { name, cluster }: Pick<ResolvedBinding, 'name' | 'cluster'>,
): void {
  if (!replaySettled.hasSubscribers || !hasEngineHeaders(record)) return
  // Not the trail of the work: that one counts attempts of deliveries that ended in a pause.
  const { replayOperation, totalAttempts, original } = readTrail(record, kind, groupId)
  if (replayOperation === undefined) return
  const { topic, partition, offset } = record
  replaySettled.publish({
    binding: name,
    cluster,
    operation: replayOperation,
    outcome,
    isFirst: totalAttempts === 0,
    topic,
    partition,
    offset,
    originalTopic: original.topic,
    originalPartition: original.partition,
    originalOffset: original.offset,
    claimedOriginal: claimedOriginal(record),
  })
}

/** A copy on the source topic has a position of its own, and its headers are not trusted there. */
function claimedOriginal(record: Work['record']): EngineEvents['replay:settled']['claimedOriginal'] {
  const headers = headersOf(record)
  const topic = headers.text(originalHeader.topic)
  const partition = headers.integer(originalHeader.partition)
  const offset = headers.offset(originalHeader.offset)
  return topic === undefined || partition === undefined || offset === undefined
    ? undefined
    : { topic, partition, offset }
}

/** Publishes the outcomes of a batch whose records are all DONE. */
export function announceBatch(batch: Batch, binding: Pick<ResolvedBinding, 'name' | 'cluster'>): void {
  if (!replaySettled.hasSubscribers) return
  const { kind, groupId } = batch.first
  for (const record of batch.records) announceReplay({ record, kind, groupId }, 'DONE', binding)
}
