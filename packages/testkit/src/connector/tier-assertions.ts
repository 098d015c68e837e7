import type { Buffer } from 'node:buffer'
import { RecordHeaders, replayHeader } from '@waybill/core'
import { originalHeader, retryHeader } from '@waybill/core/internal'
import type { KafkaClient, KafkaRecord } from '@waybill/kafka'
import type { EventuallyOptions } from '../wait/eventually.ts'
import { type ExpectedRecord, expectedFields } from './record-match.ts'
import { type TopicAssertions, topicAssertions } from './topic-assertions.ts'

/** A record of a retry tier, with its decoded headers. */
export interface TierRecord {
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly headers: RecordHeaders
  readonly tier: number
  /** Delivery number within the tier, from 1. */
  readonly attempt: number
  /** Time of publication to the tier. */
  readonly retryTimestamp: number
  readonly totalAttempts: number
  readonly consumerGroup: string
  readonly originalTopic: string
  readonly originalPartition: number
  readonly originalOffset: bigint
}

/** Expected fields of a tier record; an omitted field may have any value. */
export interface ExpectedTierRecord extends ExpectedRecord {
  readonly tier?: number
  readonly attempt?: number
  readonly consumerGroup?: string
}

const fields = {
  ...expectedFields,
  tier: 0,
  attempt: 0,
  consumerGroup: 0,
} satisfies Record<keyof ExpectedTierRecord, 0>

/** Asserts the records of a retry tier topic. */
export type TierAssertions = TopicAssertions<TierRecord, ExpectedTierRecord>

/** Creates {@link TierAssertions} for a topic, with any client that can reach it. */
export function tierAssertions(client: KafkaClient, topic: string, options?: EventuallyOptions): TierAssertions {
  return topicAssertions(client, topic, { read: tierRecordOf, fields }, options)
}

function tierRecordOf({ key, value, headers: given }: KafkaRecord): TierRecord {
  const headers = RecordHeaders.from(given)
  return {
    key,
    value,
    headers,
    tier: headers.integer(retryHeader.tier) ?? 0,
    attempt: headers.integer(retryHeader.attempt) ?? 0,
    retryTimestamp: headers.timestampMs(retryHeader.timestamp) ?? 0,
    totalAttempts: headers.integer(retryHeader.totalAttempts) ?? 0,
    consumerGroup: headers.text(replayHeader.consumerGroup) ?? '',
    originalTopic: headers.text(originalHeader.topic) ?? '',
    originalPartition: headers.integer(originalHeader.partition) ?? -1,
    originalOffset: headers.offset(originalHeader.offset) ?? -1n,
  }
}
