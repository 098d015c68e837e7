/**
 * Decides whether a replay for another group may be skipped. Any producer of a source topic can write the headers of a
 * replay, so they only name the record to compare with: the group skips a copy of a record that it was given before.
 *
 * | the headers name | decision |
 * |---|---|
 * | an earlier record of the partition with the same key, value and application headers | COPY: skipped |
 * | such a record, but it was deleted, compacted or aborted | FORGED: delivered |
 * | a record that differs, or has damaged headers | FORGED |
 * | the record itself or a later one, another partition, or no complete position | FORGED, without a read |
 *
 * The original may be a copy itself. Offsets decrease along such a chain, so it ends at a record that the group was given.
 */

import { originalHeader } from '@waybill/core/internal'
import type { KafkaRecord, TopicPartition } from '@waybill/kafka'
import { applicationHeaders, headersOf, readableHeadersOf } from './record-headers.ts'
import { isSameBytes } from './same-bytes.ts'

/** Whether a record is a copy of its original, or only claims to be one. */
export type ReplayVerdict = 'COPY' | 'FORGED'

/** The position of a record. */
export interface RecordPosition extends TopicPartition {
  readonly offset: bigint
}

/** Returns the position that a replay names, if its original can be there. */
export function claimedOriginal(replay: KafkaRecord): RecordPosition | undefined {
  const headers = headersOf(replay)
  const { topic, partition } = replay
  const offset = headers.offset(originalHeader.offset)
  if (headers.text(originalHeader.topic) !== topic || headers.integer(originalHeader.partition) !== partition)
    return undefined
  return offset === undefined || offset >= replay.offset ? undefined : { topic, partition, offset }
}

/** Compares a replay with the record at the position that it names. */
export function compareWithOriginal(replay: KafkaRecord, original: KafkaRecord | undefined): ReplayVerdict {
  if (original === undefined) return 'FORGED'
  const isSame =
    isSameBytes(replay.key, original.key) &&
    isSameBytes(replay.value, original.value) &&
    haveSameHeaders(replay, original)
  return isSame ? 'COPY' : 'FORGED'
}

function haveSameHeaders(replay: KafkaRecord, original: KafkaRecord): boolean {
  const [left, right] = [readableHeadersOf(replay), readableHeadersOf(original)]
  if (left === null || right === null) return false
  const [copied, given] = [[...applicationHeaders(left)], [...applicationHeaders(right)]]
  return (
    copied.length === given.length &&
    copied.every(([name, value], index) => {
      const [otherName, otherValue] = given[index] as (typeof given)[number]
      return name === otherName && isSameBytes(value, otherValue)
    })
  )
}
