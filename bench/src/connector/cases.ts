/** The comparisons of the connector. */

import {
  type PeerResult,
  type PeerTask,
  runParallelConsumer,
  runSpringDeadLetter,
  runSpringManualImmediate,
  runSpringResilience4j,
  runSpringTiers,
} from './java-peers.ts'
import type { SetupName } from './setups.ts'

/** A contestant that does the same work. */
export interface Rival {
  readonly name: string
  /** The Java peer to run, or the name of a setup of the connector. */
  readonly run: ((task: PeerTask) => Promise<PeerResult>) | SetupName
  /** A smaller number of records for a slower contestant. */
  readonly records?: number
}

/** One comparison. */
export interface ConnectorCase {
  readonly name: string
  readonly setup: SetupName
  readonly records: number
  readonly keys: number
  /** True when contestants also write: each gets a topic of its own. */
  readonly isOwnTopic?: boolean
  /** A multiple of the usual number of rounds. */
  readonly timesRounds?: number
  readonly rivals: readonly Rival[]
}

export const partitions = 8

export const cases: readonly ConnectorCase[] = [
  {
    name: 'no-op handler, MANUAL, 100 B',
    setup: 'MANUAL',
    records: 500_000,
    keys: 10_000,
    rivals: [{ name: 'spring-resilience4j', run: runSpringResilience4j }],
  },
  {
    name: 'no-op handler, MANUAL_IMMEDIATE, 100 B',
    setup: 'MANUAL_IMMEDIATE',
    records: 40_000,
    keys: 10_000,
    rivals: [{ name: 'spring', run: runSpringManualImmediate }],
  },
  {
    name: 'batch handler, 100 B',
    setup: 'BULK',
    records: 3_000_000,
    keys: 10_000,
    rivals: [
      { name: 'waybill-client', run: 'RAW' },
      { name: 'waybill-client, no commits', run: 'RAW_UNCOMMITTED' },
    ],
  },
  {
    name: 'no-op handler, BATCH one by one, 100 B',
    setup: 'BATCH',
    records: 1_000_000,
    keys: 10_000,
    timesRounds: 2,
    rivals: [{ name: 'waybill-manual', run: 'MANUAL' }],
  },
  {
    name: 'no-op handler, telemetry, 100 B',
    setup: 'TELEMETRY',
    records: 1_000_000,
    keys: 10_000,
    timesRounds: 2,
    rivals: [{ name: 'waybill-without', run: 'MANUAL' }],
  },
  {
    name: '5 ms handler, in the order of keys',
    setup: 'SLOW_BY_KEY',
    records: 100_000,
    keys: 2_000,
    rivals: [
      { name: 'parallel-consumer', run: runParallelConsumer },
      { name: 'waybill-partition', run: 'SLOW_BY_PARTITION', records: 8_000 },
    ],
  },
  {
    name: 'every record fails, to the dead letters',
    setup: 'DEAD_LETTERS',
    records: 20_000,
    keys: 10_000,
    isOwnTopic: true,
    rivals: [{ name: 'spring-tuned', run: runSpringDeadLetter }],
  },
  {
    name: 'every record fails, through three tiers',
    setup: 'TIERS',
    records: 20_000,
    keys: 10_000,
    isOwnTopic: true,
    rivals: [{ name: 'spring-tuned', run: (task) => runSpringTiers(task, partitions) }],
  },
]
