import type { Runtime } from '@waybill/core'
import type { SqlConnection } from '@waybill/core/internal'
import type { OutboxStore } from '@waybill/outbox'
import type { Capabilities, Harness } from '../suite/harness.ts'

/**
 * An optional capability of a database.
 *
 * - ROW_LOCKS: two transactions write to one table at the same time, each locking its own rows.
 * - OPEN_NUMBERS: it tells which open transactions have sequence numbers.
 */
export type OutboxStoreCapability = 'ROW_LOCKS' | 'OPEN_NUMBERS'

/** The state of each capability. */
export type OutboxStoreCapabilities = Capabilities<OutboxStoreCapability>

/** A process that uses the database: sessions of two nodes are never the same. */
export interface NodeUnderTest {
  connection<T>(use: (connection: SqlConnection) => Promise<T>): Promise<T>
  transaction<T>(work: (connection: SqlConnection) => Promise<T>): Promise<T>
}

/** An empty outbox for one test. */
export interface OutboxUnderTest {
  readonly store: OutboxStore
  /** Two processes on the same tables. */
  readonly nodes: readonly [NodeUnderTest, NodeUnderTest]
  /** The runtime that a test waits on. The clock of the database is separate. */
  readonly runtime: Runtime
  /** Overwrites the headers of a row with a text that no codec can read. */
  spoil(eventId: string): Promise<void>
  /** Replaces the event of a row, as if a server that lost the first event had assigned its number again. */
  reuseNumber(eventId: string, byEventId: string): Promise<void>
}

/** Gives the suite outboxes to test. */
export type OutboxStoreHarness = Harness<OutboxUnderTest, OutboxStoreCapability>
