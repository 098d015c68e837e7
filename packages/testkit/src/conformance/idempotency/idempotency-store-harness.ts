import type { IdempotencyStore, Inbox, Runtime } from '@waybill/core'
import type { Capabilities, Harness } from '../suite/harness.ts'

/**
 * What not every store can do.
 *
 * - TRANSACTIONS: a mark can be written in the transaction of the effect.
 */
export type IdempotencyStoreCapability = 'TRANSACTIONS'

/** For each capability whether it is there, and if not, why. */
export type IdempotencyStoreCapabilities = Capabilities<IdempotencyStoreCapability>

/** Marks beside effects in one database, for one test. Its handles are opaque to the suite. */
export interface InboxUnderTest {
  /** Two processes on the same marks and effects. */
  readonly inboxes: readonly [Inbox<unknown>, Inbox<unknown>]
  transaction<T>(work: (tx: unknown) => Promise<T>): Promise<T>
  /** Marks in the caller's transaction. @returns whether it was not marked before */
  markWithin(tx: unknown, consumer: string, key: string): Promise<boolean>
  /** Has an effect in the transaction. */
  affect(tx: unknown, text: string): Promise<void>
  /** The effects that are committed, in any order. */
  effects(): Promise<string[]>
}

/** No marks yet, for one test. */
export interface MarksUnderTest {
  /** Two processes on the same marks. */
  readonly stores: readonly [IdempotencyStore, IdempotencyStore]
  /** With TRANSACTIONS: an inbox on the same marks. */
  readonly inbox: InboxUnderTest | null
  /** The time a test waits in. */
  readonly runtime: Runtime
}

/** How the suite gets at a store of marks. */
export type IdempotencyStoreHarness = Harness<MarksUnderTest, IdempotencyStoreCapability>
