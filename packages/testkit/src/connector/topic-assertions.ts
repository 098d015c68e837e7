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

/** Looks at a topic whose records say `T`, and can be asked for `E`. Ends with the client, or when it is disposed of. */
export interface TopicAssertions<T, E> extends AsyncDisposable {
  /** What it holds now: also what was delivered from it, since a topic forgets nothing. */
  all(): Promise<readonly T[]>
  /** Waits until it holds so many, and answers them. */
  hasCount(count: number): Promise<readonly T[]>
  /** Waits until it holds such a record, and answers it. */
  contains(expected: E): Promise<T>
}

/** What a topic's records are. */
export interface RecordKind<T, E> {
  /** Makes of a record what it says. */
  readonly read: (record: KafkaRecord) => T
  /** Everything it can be asked for, by name: the compiler says which one is missing. */
  readonly fields: Readonly<Record<keyof E, 0>>
}

/** Makes {@link TopicAssertions}. */
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
