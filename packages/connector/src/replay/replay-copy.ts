/**
 * The record that a replay writes: the original once more, with what must be known of its past and nothing of its
 * retries, its tiers and its death (C-20).
 */

import { replayHeader } from '@waybill/core'
import { originalHeader, retryHeader, waitingHeader } from '@waybill/core/internal'
import type { OutRecord, TopicPartition } from '@waybill/kafka'
import { releaseRecord, replayRecord, type WaitingPlace } from '../partition/key-order/waiting-record.ts'
import type { DeadLetterReading } from '../records/dead-letter-record.ts'
import { pairs } from '../records/record-headers.ts'

/** The retry tier that a copy waits in first. */
export interface CopyTier {
  readonly tier: number
  readonly topic: string
  readonly delayMs: number
}

type Values = Parameters<typeof pairs>[0]

/** For the topic that it came from. Other groups pass it over by its group (C-71). */
export function copyForOriginal(
  letter: DeadLetterReading,
  to: Pick<OutRecord, 'topic' | 'partition'>,
  groupId: string,
): OutRecord {
  return copyOf(letter, to, groupId, [])
}

/** For a retry tier, whose delay it waits from now on. */
export function copyForTier(letter: DeadLetterReading, tier: CopyTier, groupId: string, nowMs: number): OutRecord {
  return copyOf(letter, { topic: tier.topic }, groupId, [
    [retryHeader.tier, tier.tier],
    [retryHeader.attempt, 1],
    [retryHeader.timestamp, nowMs],
  ])
}

/** For the waiting topic: it is delivered in the place that its original has among those of its key (D21). */
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
    ...firstFailureOf(letter),
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

/** Lets the key go on without it. */
export function releaseFor(letter: DeadLetterReading, waitingTopic: string, groupId: string): OutRecord {
  return releaseRecord(waitingPlaceOf(letter, waitingTopic, groupId), originalOf(letter), letter.replayCount)
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
      ...firstFailureOf(letter),
      ...retry,
    ]),
  ]
  return { ...to, key, value, headers }
}

/** All of it or nothing: half of a place names another record. */
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

function firstFailureOf({ record: { firstFailureTimestamp } }: DeadLetterReading): Values {
  return firstFailureTimestamp > 0 ? [[retryHeader.firstFailureTimestamp, firstFailureTimestamp]] : []
}

function originalOf({ record }: DeadLetterReading): Parameters<typeof releaseRecord>[1] {
  return { offset: record.originalOffset, timestamp: record.originalTimestamp, key: record.key }
}

function waitingPlaceOf({ record }: DeadLetterReading, topic: string, groupId: string): WaitingPlace {
  const source: TopicPartition = { topic: record.originalTopic, partition: record.originalPartition }
  return { source, waiting: { topic, partition: source.partition }, groupId }
}
