import { engineChannel } from '@waybill/core/internal'
import type { ResolvedBinding } from '../binding/resolved-binding.ts'
import type { Batch } from '../delivery/batch.ts'
import type { Outcome } from '../delivery/outcome.ts'
import type { Work } from '../delivery/work.ts'
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
  })
}

/** Publishes the outcomes of a batch whose records are all DONE. */
export function announceBatch(batch: Batch, binding: Pick<ResolvedBinding, 'name' | 'cluster'>): void {
  if (!replaySettled.hasSubscribers) return
  const { kind, groupId } = batch.first
  for (const record of batch.records) announceReplay({ record, kind, groupId }, 'DONE', binding)
}
