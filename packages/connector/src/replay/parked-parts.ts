/** The parts of a record that were too large for its dead letter, read from the original record. */

import { RecordHeaders } from '@waybill/core'
import { type KafkaClient, KafkaError, type KafkaRecord } from '@waybill/kafka'
import { isMissing } from '@waybill/kafka/internal'
import type { DeadLetterReading } from '../records/dead-letter-record.ts'
import { applicationHeaders, headersOf } from '../records/record-headers.ts'
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
  if (!parts.has('key') && !isSame(original.key, letter.record.key)) return undefined
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
  const { originalTopic: topic, originalPartition: partition, originalOffset: from } = record
  if (topic === '' || partition < 0 || from < 0n) return undefined
  await using reader = client.reader([{ topic, partition, from, until: from + 1n }])
  try {
    const [found] = (await reader.next(1)) ?? []
    return found
  } catch (error) {
    // A deleted topic has no original. Any other failure may be temporary, and must not count as missing.
    if (error instanceof KafkaError && isMissing(error)) return undefined
    throw error
  }
}

function isSame(left: Buffer | null, right: Buffer | null): boolean {
  return left === null || right === null ? left === right : left.equals(right)
}
