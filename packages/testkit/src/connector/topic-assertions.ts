import { systemRuntime } from '@waybill/core'
import type { KafkaClient, KafkaRecord } from '@waybill/kafka'
import { type EventuallyOptions, eventually } from '../eventually.ts'
import { assertContains, assertCount, type ComparedRecord, type ExpectedRecord } from './record-match.ts'
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

/** Makes {@link TopicAssertions}; `read` makes of each record what it says. */
export function topicAssertions<T extends ComparedRecord, E extends ExpectedRecord>(
  client: KafkaClient,
  topic: string,
  read: (record: KafkaRecord) => T,
  options: EventuallyOptions = {},
): TopicAssertions<T, E> {
  const reader = new TopicReader(client, topic, options.runtime ?? systemRuntime)
  const all = async (): Promise<readonly T[]> => (await reader.records()).map((record) => read(record))
  return {
    all,
    hasCount: (count) => eventually(async () => assertCount(topic, await all(), count), options),
    contains: (expected) => eventually(async () => assertContains(topic, await all(), expected), options),
    [Symbol.asyncDispose]: () => reader[Symbol.asyncDispose](),
  }
}
