import type { PartitionStatus } from '../../src/api/binding-view.ts'

/** A partition at rest, with what a test says otherwise. */
export function partitionStatus(given: Partial<PartitionStatus> = {}): PartitionStatus {
  return {
    topic: 'orders.events',
    partition: 0,
    epoch: 1,
    watermark: 0n,
    committed: 0n,
    buffered: 0,
    running: 0,
    unconfirmed: 0,
    waiting: 0,
    unsettledTimestamp: undefined,
    runningSince: undefined,
    pausedBy: [],
    trouble: undefined,
    ...given,
  }
}
