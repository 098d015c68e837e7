import type { Buffer } from 'node:buffer'
import { Consumer, MessagesStreamModes } from '@platformatic/kafka'

/** A record as another client reads it, with its headers as texts. */
export interface ForeignRecord {
  readonly key: Buffer
  readonly value: Buffer
  readonly headers: Readonly<Record<string, string>>
}

/** Reads a partition from its beginning with another client than the one under test, without a group. */
export async function readForeign(
  bootstrap: readonly string[],
  { topic, partition }: { readonly topic: string; readonly partition: number },
  count: number,
): Promise<ForeignRecord[]> {
  const consumer = new Consumer({
    clientId: 'foreign',
    groupId: `${topic}-foreign`,
    bootstrapBrokers: [...bootstrap],
    retries: 5,
    retryDelay: 200,
  })
  try {
    const stream = await consumer.consume({
      topics: [topic],
      mode: MessagesStreamModes.MANUAL,
      offsets: [{ topic, partition, offset: 0n }],
      autocommit: false,
      maxWaitTime: 500,
    })
    const records: ForeignRecord[] = []
    for await (const { key, value, headers } of stream) {
      records.push({
        key,
        value,
        headers: Object.fromEntries([...headers].map(([name, text]) => [name.toString(), text.toString()])),
      })
      if (records.length === count) break
    }
    return records
  } finally {
    await consumer.close(true)
  }
}
