import type { Runtime } from '@waybill/core'
import type { ProjectionStore } from '@waybill/core/internal'
import type { Harness } from '../suite/harness.ts'

/** An empty store of projections for one test. */
export interface ProjectionUnderTest {
  /** Two processes on the same tables. */
  readonly stores: readonly [ProjectionStore, ProjectionStore]
  /** Returns what a reader sees through the view of a projection, in the order of the keys. */
  view(projection: string, keyColumn: string, column: string): Promise<readonly (readonly [string, unknown])[]>
  /** The runtime that a test waits on. */
  readonly runtime: Runtime
}

/**
 * An optional capability of a store.
 *
 * - ROW_LOCKS: two transactions that write different rows run at the same time.
 */
export type ProjectionStoreCapability = 'ROW_LOCKS'

/** Gives the suite stores of projections to test. */
export type ProjectionStoreHarness = Harness<ProjectionUnderTest, ProjectionStoreCapability>
