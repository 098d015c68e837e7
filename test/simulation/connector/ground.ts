import type { TopicPartition } from '@waybill/kafka'
import type { SimCluster, VirtualRuntime } from '@waybill/sim'
import type { Draw } from '../draw.ts'
import type { Court } from '../world/court.ts'
import type { LogCuts } from './log-cuts.ts'
import type { LossBook } from './loss-book.ts'
import type { Obstruction } from './obstruction.ts'
import type { Program } from './program.ts'
import type { RareState } from './rare-states.ts'
import type { TopicLog } from './topic-log.ts'

/** The state that all checkers of a seed share. */
export interface Ground {
  readonly runtime: VirtualRuntime
  readonly program: Program
  readonly court: Court<RareState>
  readonly cluster: SimCluster
  /** Random choices of the handlers and the chaos. */
  readonly draw: Draw
  /** By topic and partition. */
  readonly logs: ReadonlyMap<string, TopicLog>
  readonly losses: LossBook
  readonly obstruction: Obstruction
  readonly logCuts: Pick<LogCuts, 'of' | 'committed' | 'leastSinceCommit' | 'outlived' | 'hasOutlived'>
  /** How often the wall clock was set. */
  readonly jumps: number
  /** Virtual time. */
  sinceStart(): number
  log(topic: string, partition: number): TopicLog | undefined
  /** Returns true when a process has not noticed yet that its log was replaced. */
  isUnaware(process: string, groupId: string, partition: TopicPartition): boolean
  /** Returns true when a process has not been notified yet that a log of the source was cut. */
  isUnawareOfCut(process: string, groupId: string, partition: TopicPartition): boolean
  /** Returns true when a process has found that its log was replaced or cut, and reads the new one. */
  beginsAnew(process: string, groupId: string, partition: TopicPartition): boolean
  /** Returns the logs that have changed since the last call. */
  takeChangedLogs(): readonly TopicLog[]
  /** Discovers new topics and partitions. */
  discover(): void
}
