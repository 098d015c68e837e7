import type { Runtime } from '@waybill/core'
import type { OperationStore } from '@waybill/core/internal'
import type { Capabilities, Harness } from '../suite/harness.ts'

/**
 * An optional capability of a store.
 *
 * - DURABLE: other processes see the operations.
 */
export type OperationStoreCapability = 'DURABLE'

/** The state of each capability. */
export type OperationStoreCapabilities = Capabilities<OperationStoreCapability>

/** An empty store for one test. */
export interface OperationsUnderTest {
  /** Two processes on the same operations. Without DURABLE: the same store twice. */
  readonly stores: readonly [OperationStore, OperationStore]
  /** The runtime that a test waits on. */
  readonly runtime: Runtime
}

/** Gives the suite stores to test. */
export type OperationStoreHarness = Harness<OperationsUnderTest, OperationStoreCapability>
