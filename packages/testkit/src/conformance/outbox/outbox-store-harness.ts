import type { Runtime } from '@waybill/core'
import type { SqlConnection } from '@waybill/core/internal'
import type { OutboxStore } from '@waybill/outbox'
import type { Capabilities, Harness } from '../suite/harness.ts'

/**
 * What not every database can do for a test.
 *
 * - ROW_LOCKS: two transactions write to one table at the same time, each locking its own rows.
 * - OPEN_NUMBERS: it tells which open transactions have sequence numbers.
 */
export type OutboxStoreCapability = 'ROW_LOCKS' | 'OPEN_NUMBERS'

/** For each capability whether it is there, and if not, why. */
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
  /** The time a test waits in. The database's clock runs beside it. */
  readonly runtime: Runtime
  /** Overwrites the headers of a row with a text that no codec reads. */
  spoil(eventId: string): Promise<void>
  /** Puts another event in the place of a row's: as if a server that lost the first had given its number once more. */
  reuseNumber(eventId: string, byEventId: string): Promise<void>
}

/** How the suite gets at an outbox. */
export type OutboxStoreHarness = Harness<OutboxUnderTest, OutboxStoreCapability>
