import { type DeadLetterRecord, deadLetterRecordOf } from '@waybill/connector'
import type { DeadLetterReason } from '@waybill/core'
import type { KafkaClient } from '@waybill/kafka'
import type { EventuallyOptions } from '../wait/eventually.ts'
import { type ExpectedRecord, expectedFields } from './record-match.ts'
import { type TopicAssertions, topicAssertions } from './topic-assertions.ts'

/** Expected fields of a dead letter; an omitted field may have any value. */
export interface ExpectedDeadLetter extends ExpectedRecord {
  readonly dltReason?: DeadLetterReason
  readonly lastExceptionClass?: string
  readonly lastExceptionMessage?: string
}

const fields = {
  ...expectedFields,
  dltReason: 0,
  lastExceptionClass: 0,
  lastExceptionMessage: 0,
} satisfies Record<keyof ExpectedDeadLetter, 0>

/** Asserts the records of a dead letter topic, in either format. */
export type DeadLetterAssertions = TopicAssertions<DeadLetterRecord, ExpectedDeadLetter>

/** Creates {@link DeadLetterAssertions} for a topic, with any client that can reach it. */
export function deadLetterAssertions(
  client: KafkaClient,
  topic: string,
  options?: EventuallyOptions,
): DeadLetterAssertions {
  return topicAssertions(client, topic, { read: deadLetterRecordOf, fields }, options)
}
