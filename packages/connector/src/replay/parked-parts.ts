/** The parts of a record that were too large for its dead letter, read from the original record. */

import { RecordHeaders } from '@waybill/core'
import type { KafkaClient, KafkaRecord } from '@waybill/kafka'
import type { DeadLetterReading } from '../records/dead-letter-record.ts'
import { readRecord } from '../records/read-record.ts'
import { applicationHeaders, headersOf } from '../records/record-headers.ts'
import { isSameBytes } from '../records/same-bytes.ts'
import { parkedParts } from '../records/shrink-record.ts'

/**
 * Returns the dead letter with all its parts; undefined when the original no longer exists. A re-created topic repeats
 * offsets, so the record found at the original offset must have the original's timestamp and, where the dead letter has
 * it, its key.
 */
export async function withParkedParts(
  letter: DeadLetterReading,
  client: Pick<KafkaClient, 'reader'>,
): Promise<DeadLetterReading | undefined> {
  const parts = parkedParts(letter.record.headers)
  if (parts.size === 0) return letter
  const original = await readOriginal(letter, client)
  if (original === undefined || original.timestamp !== letter.record.originalTimestamp) return undefined
  if (!parts.has('key') && !isSameBytes(original.key, letter.record.key)) return undefined
  return {
    ...letter,
    application: parts.has('headers') ? applicationHeaders(headersOf(original)) : letter.application,
    record: {
      ...letter.record,
      key: parts.has('key') ? original.key : letter.record.key,
      value: parts.has('value') ? original.value : letter.record.value,
      headers: parts.has('headers')
        ? RecordHeaders.from([...applicationHeaders(headersOf(original)), ...letter.record.headers])
        : letter.record.headers,
    },
  }
}

async function readOriginal(
  { record }: DeadLetterReading,
  client: Pick<KafkaClient, 'reader'>,
): Promise<KafkaRecord | undefined> {
  const { originalTopic: topic, originalPartition: partition, originalOffset: offset } = record
  if (topic === '' || partition < 0 || offset < 0n) return undefined
  return readRecord(client, { topic, partition, offset })
}
