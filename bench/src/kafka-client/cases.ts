/** The comparisons of the Kafka client. */

/** One comparison. */
export interface BenchCase {
  readonly name: string
  readonly task: 'consume' | 'produce' | 'latency'
  readonly bytes: number
  readonly count: number
  readonly shape?: 'BATCH' | 'SINGLE'
  /** A smaller number of records for the slower clients. */
  readonly slowCount?: number
}

export const cases: readonly BenchCase[] = [
  { name: 'consume 100 B, 3 headers', task: 'consume', bytes: 100, count: 1_000_000 },
  { name: 'consume 1 KB, 3 headers', task: 'consume', bytes: 1_024, count: 300_000 },
  { name: 'produce 100 B in batches', task: 'produce', bytes: 100, count: 300_000, shape: 'BATCH' },
  { name: 'produce 1 KB in batches', task: 'produce', bytes: 1_024, count: 100_000, shape: 'BATCH' },
  {
    name: 'produce 100 B, 1,000 single sends in flight',
    task: 'produce',
    bytes: 100,
    count: 200_000,
    slowCount: 10_000,
    shape: 'SINGLE',
  },
  { name: 'latency at 200 records/s', task: 'latency', bytes: 100, count: 0 },
]

export const references = ['platformatic', 'kafkajs', 'java'] as const
/** The clients to compare with. */
export type Reference = (typeof references)[number]
