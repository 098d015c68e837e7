/** The parts of the world that nodes, listeners and checkers see, and their views of each other. */

import type { EventEnvelope, ListenerContext, Metrics, RetryAfter } from '@waybill/core'
import type { ReadLimits } from '@waybill/outbox/internal'
import type { VirtualRuntime } from '@waybill/sim'
import type { SimOutboxRow, SimSqlServer, SimStatement } from '@waybill/sim/internal'
import type { Court } from '../world/court.ts'
import type { ProcessGate } from '../world/process-gate.ts'
import type { Decided } from './decided.ts'
import type { EventBook } from './event-book.ts'
import type { Ownership } from './ownership.ts'
import type { Program } from './program.ts'
import type { RareState } from './rare-states.ts'
import type { Roads } from './roads.ts'

/** A process that runs an outbox. */
export interface NodeView {
  readonly name: string
  readonly gate: ProcessGate
  readonly state: 'LIVING' | 'STOPPING' | 'STOPPED' | 'DEAD'
}

/** A call of a listener. */
export interface Call {
  readonly node: NodeView
  readonly eventId: string
  readonly attempt: number
  /** Version of the lease under which it was called; undefined when there was none. */
  readonly version: bigint | undefined
}

/** Knowledge about calls. */
export interface Journal {
  runningOf(eventId: string): readonly Call[]
  runningAt(node: NodeView): readonly Call[]
  /** Returns the outcome of a process's last call for an event. */
  decidedBy(process: string, eventId: string): Decided | undefined
  /** Forgets the calls of a process that is gone. */
  forget(node: NodeView): void
  /** The listener. */
  listen(node: NodeView, event: EventEnvelope, context: ListenerContext): Promise<void | RetryAfter>
}

/** See the file's comment. */
export interface Ground {
  readonly runtime: VirtualRuntime
  readonly program: Program
  readonly court: Court<RareState>
  readonly server: SimSqlServer
  readonly book: EventBook
  readonly ownership: Ownership
  readonly journal: Journal
  readonly roads: Roads
  readonly rowChecker: { called(seq: bigint): void }
  readonly repeats: { finished(row: Readonly<SimOutboxRow>): void; called(eventId: string): void }
  readonly bounds: {
    watch(process: string, metrics: Metrics): Metrics
    reading(process: string, limits: ReadLimits): void
  }
  readonly quiet: { called(process: string): void }
  /** All processes that ever ran, by name. */
  readonly nodes: Map<string, NodeView>
  readonly isHealed: boolean
  /** True when the database's clock was set back: an event may become due a second time. */
  readonly hasClockJumpedBack: boolean
  /** Maximum attempts of the mode, the first one included. */
  readonly maxAttempts: number
  readonly workerCount: number
  /** Monotonic time. */
  readonly now: () => number
  /** Returns the engine's unanswered statements of a process. */
  engineStatements(process: string): readonly SimStatement[]
}
