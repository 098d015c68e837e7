import type { IdempotencyStore, Inbox, Runtime } from '@waybill/core'
import type { Capabilities, Harness } from '../suite/harness.ts'

/**
 * An optional capability of a store.
 *
 * - TRANSACTIONS: a mark can be written in the transaction of the effect.
 */
export type IdempotencyStoreCapability = 'TRANSACTIONS'

/** The state of each capability. */
export type IdempotencyStoreCapabilities = Capabilities<IdempotencyStoreCapability>

/** Marks beside effects in one database, for one test. Its handles are opaque to the suite. */
export interface InboxUnderTest {
  /** Two processes on the same marks and effects. */
  readonly inboxes: readonly [Inbox<unknown>, Inbox<unknown>]
  transaction<T>(work: (tx: unknown) => Promise<T>): Promise<T>
  /** Marks in the caller's transaction. @returns whether the mark is new */
  markWithin(tx: unknown, consumer: string, key: string): Promise<boolean>
  /** Writes an effect in the transaction. */
  affect(tx: unknown, text: string): Promise<void>
  /** Returns the committed effects, in any order. */
  effects(): Promise<string[]>
}

/** An empty store of marks for one test. */
export interface MarksUnderTest {
  /** Two processes on the same marks. */
  readonly stores: readonly [IdempotencyStore, IdempotencyStore]
  /** With TRANSACTIONS: an inbox on the same marks. */
  readonly inbox: InboxUnderTest | null
  /** The runtime that a test waits on. */
  readonly runtime: Runtime
}

/** Gives the suite stores of marks to test. */
export type IdempotencyStoreHarness = Harness<MarksUnderTest, IdempotencyStoreCapability>
