import type { Runtime } from '@waybill/core'
import type { RequestStore } from '@waybill/core/idempotency'
import type { Harness } from '../suite/harness.ts'

/** An empty store of request marks for one test. */
export interface RequestsUnderTest {
  /** Two processes on the same marks. */
  readonly stores: readonly [RequestStore, RequestStore]
  /** The runtime that a test waits on. */
  readonly runtime: Runtime
}

/** Gives the suite stores of request marks to test. */
export type RequestStoreHarness = Harness<RequestsUnderTest, never>
