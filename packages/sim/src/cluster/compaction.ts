import type { RecordView } from '@waybill/kafka/wire'
import type { PartitionLog } from './partition-log.ts'
import { recordsOf, type StoredBatch, withoutRecords } from './stored-batch.ts'

/**
 * Compacts a log below its last stable offset: of each key the last record stays, records of aborted transactions go,
 * and so do those without a key. Tombstones stay, as they do for `delete.retention.ms`. A batch without records is
 * dropped, unless it is the last of its producer: then it stays empty, because it carries the producer's sequence.
 */
export function compact(log: PartitionLog): void {
  const limit = log.lastStableOffset
  const lastOfKey = new Map<string, bigint>()
  const lastOfProducer = new Map<bigint, StoredBatch>()
  const aborted = log.abortedWithin(log.logStartOffset, limit)
  const isAborted = (batch: StoredBatch): boolean =>
    batch.view.isTransactional &&
    aborted.some(
      ({ producerId, firstOffset, lastOffset }) =>
        producerId === batch.view.producerId && batch.baseOffset >= firstOffset && batch.baseOffset < lastOffset,
    )
  for (const batch of log.batches) {
    lastOfProducer.set(batch.view.producerId, batch)
    if (batch.view.isControl || isAborted(batch) || batch.lastOffset >= limit) continue
    for (const { key, offset } of recordsOf(batch.view)) if (key !== null) lastOfKey.set(key.toString('latin1'), offset)
  }
  log.replaceBatches(
    log.batches.flatMap((batch) => {
      if (batch.view.isControl || batch.lastOffset >= limit) return [batch]
      const records = recordsOf(batch.view)
      const keeps = isAborted(batch)
        ? () => false
        : ({ key, offset }: RecordView) => key !== null && lastOfKey.get(key.toString('latin1')) === offset
      const kept = records.map(keeps)
      if (!kept.includes(false)) return [batch]
      const isNeeded = kept.includes(true) || lastOfProducer.get(batch.view.producerId) === batch
      return isNeeded ? [withoutRecords(batch, (index) => kept[index] === true)] : []
    }),
  )
}
