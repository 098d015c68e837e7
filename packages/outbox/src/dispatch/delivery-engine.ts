import type { EventEnvelope } from '@waybill/core'
import type { OutboxStore } from '../api/outbox-store.ts'
import type { ModeTerm } from '../claim/mode-term.ts'
import type { Destinations } from '../destination/destinations.ts'
import type { EngineDatabase } from '../loops/engine-connections.ts'
import type { OutboxPart } from '../loops/outbox-part.ts'
import type { OutboxTelemetry } from '../loops/outbox-telemetry.ts'
import type { HotPath } from '../write/hot-path.ts'

/** Delivers rows from the table to the listeners. */
export interface DeliveryEngine extends OutboxPart {
  /** The destinations that events wait for. */
  readonly destinations: Destinations
  /** Undefined: rows are only found in the table. */
  readonly hotPath: HotPath | undefined
  /**
   * Notifies the engine of rows committed on this node, whether the hot path took them or not.
   * @returns whether other nodes have to deliver some of them
   */
  committed(events: readonly EventEnvelope[], seqs: readonly bigint[], availableAt: number | null): boolean
  /** Notifies the engine that other nodes committed rows. */
  wake(): void
  /** Requests a scan of the whole table, because rows may lie where the next polls do not look. */
  sweep(): void
  /** Gives up rows in memory and aborts running listeners, because another mode may use the table. */
  modeShut(): void
  /** Returns the state that health depends on. */
  status(): EngineStatus
}

/** The state of an engine that health depends on. */
export interface EngineStatus {
  /** Rows in memory that wait for a worker. */
  readonly queued: number
  /** Whether no other node delivers from the table while this one does. */
  readonly isExclusive: boolean
  /** Whether this node may deliver now; false without the lease of the table. */
  readonly holdsTable: boolean
  /** The shards this node holds; undefined if the mode has none. */
  readonly shards?: number
  /** Delivered rows whose outcome is not written, because other transactions have locked them or rows before them. */
  readonly locked?: number
  /** The keys that are held back. */
  readonly heldKeys?: number
  /** Whether reading is paused because too many keys are held back. */
  readonly isSaturated?: boolean
}

/** The dependencies of an engine besides the options of its mode. */
export interface EngineParts {
  /** For reads and settlements. It observes whether the database answers. */
  readonly database: EngineDatabase
  /** For statements that keep leases alive: they run before the others. */
  readonly leaseDatabase: EngineDatabase
  /** Returns no rows to work on while another mode uses the table. */
  readonly store: OutboxStore
  /** Whether this mode owns the table at this monotonic time. Otherwise nothing is started, whatever its origin. */
  readonly isModeOpen: (nowMs: number) => boolean
  /** Returns the current term. Rows taken in it are not started once it is over. */
  readonly modeTerm: () => ModeTerm
  /** Unique per process. */
  readonly owner: string
  readonly telemetry: OutboxTelemetry
  /** Called when an event is settled here. */
  readonly finished: (eventId: string, state: 'DONE' | 'DEAD') => void
}
