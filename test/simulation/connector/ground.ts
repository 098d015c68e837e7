import type { SimCluster, VirtualRuntime } from '@waybill/sim'
import type { Draw } from '../draw.ts'
import type { Court } from '../world/court.ts'
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
  /** How often the wall clock was set. */
  readonly jumps: number
  /** Virtual time. */
  sinceStart(): number
  log(topic: string, partition: number): TopicLog | undefined
  /** Finds topics and partitions that are new. */
  discover(): void
}
