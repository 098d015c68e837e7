/** The comparisons of the Kafka client. */

import type { Reads } from '../passes/pass-result.ts'
import type { ProduceShape } from './contestant.ts'

/** A client: Waybill, the Java client, or one of participant.ts. */
export type ClientName = 'waybill' | 'java' | 'platformatic' | 'platformatic-stream' | 'kafkajs' | 'librdkafka'

/** One comparison. All contestants consume or write the same number of records. */
export type ClientCase = { readonly name: string; readonly bytes: number; readonly rivals: readonly ClientName[] } & (
  | { readonly work: 'consume'; readonly count: number; readonly reads: Reads }
  | { readonly work: 'produce'; readonly count: number; readonly shape: ProduceShape }
  | { readonly work: 'latency' }
)

const allConsumers = ['java', 'librdkafka', 'platformatic', 'platformatic-stream', 'kafkajs'] as const
const allProducers = ['java', 'librdkafka', 'platformatic', 'kafkajs'] as const
/** The others create all fields of a record before they return it. */
const lazyConsumers = ['java', 'platformatic'] as const

export const cases: readonly ClientCase[] = [
  {
    name: 'consume 100 B, all fields',
    work: 'consume',
    bytes: 100,
    count: 1_000_000,
    reads: 'ALL',
    rivals: allConsumers,
  },
  {
    name: 'consume 1 KB, all fields',
    work: 'consume',
    bytes: 1_024,
    count: 300_000,
    reads: 'ALL',
    rivals: allConsumers,
  },
  {
    name: 'consume 100 B, key and value',
    work: 'consume',
    bytes: 100,
    count: 1_000_000,
    reads: 'KEY_VALUE',
    rivals: lazyConsumers,
  },
  {
    name: 'consume 100 B, nothing read',
    work: 'consume',
    bytes: 100,
    count: 1_000_000,
    reads: 'NOTHING',
    rivals: lazyConsumers,
  },
  {
    name: 'produce 100 B in batches',
    work: 'produce',
    bytes: 100,
    count: 300_000,
    shape: 'BATCH',
    rivals: allProducers,
  },
  {
    name: 'produce 1 KB in batches',
    work: 'produce',
    bytes: 1_024,
    count: 100_000,
    shape: 'BATCH',
    rivals: allProducers,
  },
  {
    name: 'produce 100 B, single sends that share batches',
    work: 'produce',
    bytes: 100,
    count: 200_000,
    shape: 'SINGLE',
    rivals: ['java', 'librdkafka', 'platformatic-stream'],
  },
  {
    name: 'produce 100 B, single sends, a request for each',
    work: 'produce',
    bytes: 100,
    count: 20_000,
    shape: 'SINGLE',
    rivals: ['platformatic', 'kafkajs'],
  },
  { name: 'latency at 200 records/s', work: 'latency', bytes: 100, rivals: ['java', 'platformatic', 'kafkajs'] },
]
