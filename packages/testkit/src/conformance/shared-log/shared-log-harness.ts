import type { Runtime } from '@waybill/core'
import type { SharedLog } from '@waybill/core/internal'
import type { Harness } from '../suite/harness.ts'

/** An empty log for one test. */
export interface SharedLogUnderTest {
  /** Two processes on the same log. In memory: the same log twice. */
  readonly logs: readonly [SharedLog, SharedLog]
  /** The runtime of the log. Tests wait on no other clock. */
  readonly runtime: Runtime
}

/** Gives the suite logs to test. */
export type SharedLogHarness = Harness<SharedLogUnderTest, never>
