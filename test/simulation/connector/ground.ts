import type { TopicPartition } from '@waybill/kafka'
import type { SimCluster, VirtualRuntime } from '@waybill/sim'
import type { Draw } from '../draw.ts'
import type { Court } from '../world/court.ts'
import type { LossBook } from './loss-book.ts'
import type { Obstruction } from './obstruction.ts'
import type { Program } from './program.ts'
import type { RareState } from './rare-states.ts'
import type { TopicLog } from './topic-log.ts'

/** What all checkers of a seed stand on. */
export interface Ground {
  readonly runtime: VirtualRuntime
  readonly program: Program
  readonly court: Court<RareState>
  readonly cluster: SimCluster
  /** Choices of the handlers and of the chaos. */
  readonly draw: Draw
  /** By topic and partition. */
  readonly logs: ReadonlyMap<string, TopicLog>
  readonly losses: LossBook
  readonly obstruction: Obstruction
  /** How often the wall clock was set. */
  readonly jumps: number
  /** Virtual time. */
  sinceStart(): number
  log(topic: string, partition: number): TopicLog | undefined
  /** Whether a process does not know yet that the log it reads is another one. */
  isUnaware(process: string, groupId: string, partition: TopicPartition): boolean
  /** Whether a process has found that the log it reads is another one than it knew, and reads that from its start. */
  beginsAnew(process: string, groupId: string, partition: TopicPartition): boolean
  /** The logs that have changed since it was called last. */
  takeChangedLogs(): readonly TopicLog[]
  /** Finds topics and partitions that are new. */
  discover(): void
}
