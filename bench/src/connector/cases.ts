/** The comparisons of the connector. */

import type { Reads } from '../passes/pass-result.ts'
import type { JavaArgs } from '../passes/run-contestant.ts'
import type { SetupName } from './setups.ts'

/** A contestant that does the same work: a task of the Java peers, or a setup of the connector. */
export type Rival = { readonly name: string } & (
  | { readonly java: string; readonly args: JavaArgs }
  | { readonly setup: SetupName }
)

/** One comparison. */
export interface ConnectorCase {
  readonly name: string
  readonly setup: SetupName
  readonly reads: Reads
  /** The records of each pass. */
  readonly records: number
  readonly keys: number
  /** 3 by default. */
  readonly passes?: number
  /** True if contestants also write: each pass gets a topic of its own. */
  readonly isOwnTopic?: boolean
  /** Calls of the handler for each record; 1 by default. */
  readonly callsPerRecord?: number
  /** A multiple of the usual number of rounds. */
  readonly timesRounds?: number
  readonly rivals: readonly Rival[]
}

/** The default poll of Spring's consumers. */
const poll = 500

function spring(name: string, java: string, commits: 'SYNC' | 'ASYNC', concurrency: number): Rival {
  const kind = commits === 'SYNC' ? '' : ', async commits'
  return { name: `${name} c${concurrency}${kind}`, java, args: { commits, concurrency, poll } }
}

const resilient: readonly Rival[] = [
  spring('spring-r4j', 'spring-r4j', 'SYNC', 1),
  spring('spring-r4j', 'spring-r4j', 'ASYNC', 1),
  spring('spring-r4j', 'spring-r4j', 'SYNC', 8),
  spring('spring-r4j', 'spring-r4j', 'ASYNC', 8),
]
const parallelLoad = { concurrency: 256, handlerMs: 5 }

export const cases: readonly ConnectorCase[] = [
  { name: 'MANUAL, all fields', setup: 'MANUAL', reads: 'ALL', records: 500_000, keys: 10_000, rivals: resilient },
  {
    name: 'MANUAL, key and value',
    setup: 'MANUAL',
    reads: 'KEY_VALUE',
    records: 500_000,
    keys: 10_000,
    rivals: resilient,
  },
  {
    name: 'MANUAL, nothing read',
    setup: 'MANUAL',
    reads: 'NOTHING',
    records: 500_000,
    keys: 10_000,
    rivals: resilient,
  },
  {
    name: 'MANUAL_IMMEDIATE, all fields',
    setup: 'MANUAL_IMMEDIATE',
    reads: 'ALL',
    records: 30_000,
    keys: 10_000,
    rivals: [
      spring('spring', 'spring-manual-immediate', 'SYNC', 8),
      spring('spring', 'spring-manual-immediate', 'SYNC', 1),
      spring('spring', 'spring-manual-immediate', 'ASYNC', 8),
      spring('spring', 'spring-manual-immediate', 'ASYNC', 1),
    ],
  },
  {
    name: 'every record fails, to the dead letters',
    setup: 'DEAD_LETTERS',
    reads: 'ALL',
    records: 20_000,
    keys: 10_000,
    isOwnTopic: true,
    rivals: [
      { name: 'spring-tuned c8', java: 'spring-dlt', args: { concurrency: 8 } },
      { name: 'spring-tuned c1', java: 'spring-dlt', args: { concurrency: 1 } },
    ],
  },
  {
    name: 'every record fails, through three tiers',
    setup: 'TIERS',
    reads: 'KEY_VALUE', // The headers grow from tier to tier, with each engine's own.
    records: 20_000,
    keys: 10_000,
    passes: 2,
    isOwnTopic: true,
    callsPerRecord: 4,
    rivals: [{ name: 'spring-tuned c8', java: 'spring-tiers', args: { concurrency: 8, partitions: 8 } }],
  },
  {
    name: '5 ms handler, in the order of keys',
    setup: 'SLOW_BY_KEY',
    reads: 'ALL',
    records: 100_000,
    keys: 2_000,
    rivals: [
      { name: 'parallel-consumer', java: 'parallel-consumer', args: parallelLoad },
      { name: 'parallel-consumer-reactor', java: 'parallel-consumer-reactor', args: parallelLoad },
    ],
  },
  {
    name: 'batch handler, key and value',
    setup: 'BULK',
    reads: 'KEY_VALUE',
    records: 2_000_000,
    keys: 10_000,
    rivals: [
      { name: 'waybill-client', setup: 'RAW' },
      { name: 'waybill-client, no commits', setup: 'RAW_UNCOMMITTED' },
    ],
  },
  {
    name: 'BATCH one by one, nothing read',
    setup: 'BATCH',
    reads: 'NOTHING',
    records: 1_000_000,
    keys: 10_000,
    timesRounds: 2,
    rivals: [{ name: 'waybill-manual', setup: 'MANUAL' }],
  },
  {
    name: 'telemetry, nothing read',
    setup: 'TELEMETRY',
    reads: 'NOTHING',
    records: 1_000_000,
    keys: 10_000,
    timesRounds: 2,
    rivals: [{ name: 'waybill-without', setup: 'MANUAL' }],
  },
]
