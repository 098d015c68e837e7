import { RecordHeaders } from '@waybill/core'
import type { KafkaRecord } from '@waybill/kafka'
import { Batch } from '../../src/delivery/batch.ts'
import { Work } from '../../src/delivery/work.ts'

const place = { kind: 'SOURCE', tier: 0, groupId: 'group', consumerInstance: 'host-0' } as const

/** A record as a client hands it out. */
export function recordOf(parts: Partial<KafkaRecord> = {}): KafkaRecord {
  return {
    topic: 'orders',
    partition: 0,
    offset: 0n,
    timestamp: 0,
    epoch: 1,
    key: null,
    value: Buffer.from('value'),
    headers: RecordHeaders.empty,
    byteLength: 10,
    ...parts,
  }
}

/** A record of the source in a lane. */
export function workOf({ dueAt = 0, ...parts }: Partial<KafkaRecord> & { dueAt?: number } = {}): Work {
  const record = recordOf(parts)
  const work = new Work(record, place, { handedOverAt: 0, startedAt: 0, era: 0 }, Number(record.offset))
  work.dueAt = dueAt
  return work
}

/** Works that start together. */
export function batchOf(works: readonly Work[]): Batch {
  return new Batch(place, works)
}
