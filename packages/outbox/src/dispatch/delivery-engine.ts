import type { EventEnvelope } from '@waybill/core'
import type { OutboxStore } from '../api/outbox-store.ts'
import type { ModeTerm } from '../claim/mode-term.ts'
import type { OutboxPart } from '../loops/outbox-part.ts'
import type { OutboxTelemetry } from '../loops/outbox-telemetry.ts'
import type { HotPath } from '../write/hot-path.ts'

/** What takes rows from the table to the listeners. */
export interface DeliveryEngine extends OutboxPart {
  /** Undefined: rows are only found in the table. */
  readonly hotPath: HotPath | undefined
  /**
   * Rows were committed on this node, whether the hot path took them or not.
   * @returns whether other nodes have to deliver some of them
   */
  committed(events: readonly EventEnvelope[], seqs: readonly bigint[], availableAt: number | null): boolean
  /** Other nodes committed something. */
  wake(): void
  /** Something lies where no look comes by soon. */
  sweep(): void
  /** Another mode may have the table: gives up what is held in memory, and tells the listeners that run (C-80). */
  modeShut(): void
}

/** What an engine is made of, besides what its own mode knows. */
export interface EngineParts {
  /** Has nothing to take while another mode has the table. */
  readonly store: OutboxStore
  /** Whether this mode has the table at this monotonic time: without it nothing is started, wherever it came from (C-80). */
  readonly isModeOpen: (nowMs: number) => boolean
  /** What is taken now is taken in it, and not started once it is over. */
  readonly modeTerm: () => ModeTerm
  /** Unique per process. */
  readonly owner: string
  readonly telemetry: OutboxTelemetry
  /** An event reached its end here. */
  readonly finished: (eventId: string, state: 'DONE' | 'DEAD') => void
}
