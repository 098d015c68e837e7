import type { BuildTable, ProjectionStore } from '@waybill/core/internal'
import { type RebuildSource, samePartition } from './rebuild-source.ts'

/** Adds the partitions of the topics that a build does not have yet: all at first, later those that a topic has gained. */
export async function addPartitions(
  store: ProjectionStore,
  table: Pick<BuildTable, 'projection' | 'number'>,
  source: Pick<RebuildSource, 'partitions'>,
): Promise<void> {
  const known = await store.positions(table)
  const partitions = await source.partitions()
  const missing = partitions.filter((one) => !known.some((position) => samePartition(one, position)))
  if (missing.length > 0) await store.transaction(async (tx) => void (await tx.lockPositions(table, missing)))
}
