/**
 * The records that a replay writes: the original with headers for its origin and its replay count, without the headers
 * of its retries, tiers and dead letter.
 */

import { replayHeader } from '@waybill/core'
import { attemptTraceHeader, originalHeader, retryHeader, waitingHeader } from '@waybill/core/internal'
import type { OutRecord, TopicPartition } from '@waybill/kafka'
import { releaseRecord, replayRecord, type WaitingPlace } from '../partition/key-order/waiting-record.ts'
import type { DeadLetterReading } from '../records/dead-letter-record.ts'
import { pairs } from '../records/record-headers.ts'

/** The retry tier that receives a copy. */
export interface CopyTier {
  readonly tier: number
  readonly topic: string
  readonly delayMs: number
}

type Values = Parameters<typeof pairs>[0]

/** Builds the copy for the original topic. Other consumer groups skip it by its group header. */
export function copyForOriginal(
  letter: DeadLetterReading,
  to: Pick<OutRecord, 'topic' | 'partition'>,
  groupId: string,
): OutRecord {
  return copyOf(letter, to, groupId, [])
}

/** Builds the copy for a retry tier, whose delay starts now. */
export function copyForTier(letter: DeadLetterReading, tier: CopyTier, groupId: string, nowMs: number): OutRecord {
  return copyOf(letter, { topic: tier.topic }, groupId, [
    [retryHeader.tier, tier.tier],
    [retryHeader.attempt, 1],
    [retryHeader.timestamp, nowMs],
  ])
}

/** Builds the copy for the waiting topic: it is delivered at its original's position among the records of its key. */
export function copyForWaiting(
  letter: DeadLetterReading,
  waitingTopic: string,
  groupId: string,
  tier: CopyTier | undefined,
  nowMs: number,
): OutRecord {
  const { record, replayCount } = letter
  const content = { value: record.value, headers: letter.application }
  const copy = replayRecord(waitingPlaceOf(letter, waitingTopic, groupId), originalOf(letter), replayCount + 1, content)
  const added: Values = [
    ...historyOf(letter),
    ...(tier === undefined
      ? []
      : ([
          [retryHeader.tier, tier.tier],
          [retryHeader.attempt, 1],
          [retryHeader.timestamp, nowMs],
          [waitingHeader.due, nowMs + tier.delayMs],
        ] as const)),
  ]
  return { ...copy, headers: [...(copy.headers ?? []), ...pairs(added)] }
}

/** Builds the release, which unblocks the key without delivering the dead letter. */
export function releaseFor(letter: DeadLetterReading, waitingTopic: string, groupId: string): OutRecord {
  return releaseRecord(waitingPlaceOf(letter, waitingTopic, groupId), originalOf(letter), letter.replayCount)
}

/** Adds the operation that writes a copy, and the operator who edited it. */
export function stamped(
  copy: OutRecord,
  { operation, editedBy }: { readonly operation?: string | undefined; readonly editedBy?: string | undefined },
): OutRecord {
  const added: Values = [
    ...(operation === undefined ? [] : ([[replayHeader.operation, operation]] as const)),
    ...(editedBy === undefined ? [] : ([[replayHeader.editedBy, editedBy]] as const)),
  ]
  return added.length === 0 ? copy : { ...copy, headers: [...(copy.headers ?? []), ...pairs(added)] }
}

function copyOf(
  letter: DeadLetterReading,
  to: Pick<OutRecord, 'topic' | 'partition'>,
  groupId: string,
  retry: Values,
): OutRecord {
  const { key, value } = letter.record
  const headers = [
    ...letter.application,
    ...pairs([
      ...originOf(letter),
      [replayHeader.consumerGroup, groupId],
      [replayHeader.count, letter.replayCount + 1],
      ...historyOf(letter),
      ...retry,
    ]),
  ]
  return { ...to, key, value, headers }
}

/** Returns all origin headers or none: incomplete coordinates could name another record. */
function originOf({ record }: DeadLetterReading): Values {
  const { originalTopic, originalPartition, originalOffset, originalTimestamp } = record
  if (originalTopic === '' || originalPartition < 0 || originalOffset < 0n) return []
  return [
    [originalHeader.topic, originalTopic],
    [originalHeader.partition, originalPartition],
    [originalHeader.offset, originalOffset],
    [originalHeader.timestamp, originalTimestamp],
  ]
}

/** Returns what a replay keeps of the deliveries before it. */
function historyOf({ record: { firstFailureTimestamp }, attemptTraceparent }: DeadLetterReading): Values {
  const failed =
    firstFailureTimestamp > 0 ? ([[retryHeader.firstFailureTimestamp, firstFailureTimestamp]] as const) : []
  const traced =
    attemptTraceparent === undefined ? [] : ([[attemptTraceHeader.traceparent, attemptTraceparent]] as const)
  return [...failed, ...traced]
}

function originalOf({ record }: DeadLetterReading): Parameters<typeof releaseRecord>[1] {
  return { offset: record.originalOffset, timestamp: record.originalTimestamp, key: record.key }
}

function waitingPlaceOf({ record }: DeadLetterReading, topic: string, groupId: string): WaitingPlace {
  const source: TopicPartition = { topic: record.originalTopic, partition: record.originalPartition }
  return { source, waiting: { topic, partition: source.partition }, groupId }
}
