import type { Runtime } from '@waybill/core'
import type { DeadLetterIndex } from '@waybill/core/internal'
import type { Harness } from '../suite/harness.ts'

/** An empty index for one test. */
export interface DeadLetterIndexUnderTest {
  /** Two processes on the same index. In memory: the same index twice. */
  readonly indexes: readonly [DeadLetterIndex, DeadLetterIndex]
  /** The clock of the indexes. */
  readonly runtime: Pick<Runtime, 'clock'>
}

/** Gives the suite indexes to test. */
export type DeadLetterIndexHarness = Harness<DeadLetterIndexUnderTest, never>
