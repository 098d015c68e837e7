import type { KafkaClient, KafkaRecord } from '@waybill/kafka'

/**
 * Returns the part of a client that a rebuild reads with, over records in memory: neither side of the comparison reads from
 * a broker.
 */
export function logOf(records: readonly KafkaRecord[], recordsPerRead: number): Pick<KafkaClient, 'admin' | 'reader'> {
  const place = { topic: 'ledger', partition: 0 }
  const done = { outcome: 'DONE', error: null, ...place }
  const admin = {
    describeTopics: async () => [{ ...done, partitions: [place] }],
    describeConfigs: async () => [{ ...done, configs: new Map() }],
    listOffsets: async (_: unknown, at: string) => [{ ...done, offset: at === 'LATEST' ? BigInt(records.length) : 0n }],
  }
  return {
    admin: admin as never,
    reader([range]) {
      let at = Number(range?.from)
      return {
        async next(most) {
          const read = records.slice(at, Math.min(at + Math.min(most, recordsPerRead), Number(range?.until)))
          at += read.length
          return read.length === 0 ? undefined : read
        },
        async close() {},
        async [Symbol.asyncDispose]() {},
      }
    },
  }
}
