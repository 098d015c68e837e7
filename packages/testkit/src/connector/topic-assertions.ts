import type { KafkaClient, KafkaRecord } from '@waybill/kafka'
import { requireNumber, requireText } from '../require-argument.ts'
import { type EventuallyOptions, eventually } from '../wait/eventually.ts'
import {
  assertContains,
  assertCount,
  assertExpectation,
  type ComparedRecord,
  type ExpectedRecord,
} from './record-match.ts'
import { TopicReader } from './topic-reader.ts'

/** Asserts the records of a topic, decoded as `T` and matched by `E`. Ends with the client, or when disposed. */
export interface TopicAssertions<T, E> extends AsyncDisposable {
  /** Returns all records, including those already delivered, since a topic retains them. */
  all(): Promise<readonly T[]>
  /** Waits until the topic has `count` records, and resolves with them. */
  hasCount(count: number): Promise<readonly T[]>
  /** Waits until the topic has a matching record, and resolves with it. */
  contains(expected: E): Promise<T>
}

/** The kind of records in a topic. */
export interface RecordKind<T, E> {
  /** Decodes a record. */
  readonly read: (record: KafkaRecord) => T
  /** All fields of an expectation; the compiler reports a missing one. */
  readonly fields: Readonly<Record<keyof E, 0>>
}

/** Creates {@link TopicAssertions}. */
export function topicAssertions<T extends ComparedRecord, E extends ExpectedRecord>(
  client: KafkaClient,
  topic: string,
  { read, fields }: RecordKind<T, E>,
  options: EventuallyOptions = {},
): TopicAssertions<T, E> {
  requireText(
    'An assertion about a topic',
    'its name',
    topic,
    "Write deadLetters('orders.DLT'), tier('orders.retry-1').",
  )
  const reader = new TopicReader(client, topic)
  const all = async (): Promise<readonly T[]> => (await reader.records()).map((record) => read(record))
  return {
    all,
    async hasCount(count) {
      requireNumber('hasCount()', 'how many records there are', count, 'Write hasCount(2).', { isWhole: true })
      return eventually(async () => assertCount(topic, await all(), count), options)
    },
    async contains(expected) {
      assertExpectation(expected, Object.keys(fields))
      return eventually(async () => assertContains(topic, await all(), expected), options)
    },
    [Symbol.asyncDispose]: () => reader[Symbol.asyncDispose](),
  }
}
