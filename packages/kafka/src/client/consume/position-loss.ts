import type { TopicPartition } from '../cluster/topic-partition.ts'

/**
 * - OUT_OF_RANGE: the log does not have the offset that was due, any more or yet.
 * - TOPIC_REPLACED: the topic was deleted and created again; its offsets mean other records. So the assignment ends
 *   (`onLost`) and begins anew under another epoch (`onAssigned`), at its first record unless `startFrom` is ERROR.
 * - NO_OFFSET: the group has committed none, and `startFrom` is ERROR.
 */
export type PositionLossCause = 'OUT_OF_RANGE' | 'TOPIC_REPLACED' | 'NO_OFFSET'

/** A partition whose next offset is not what it was, or not known. */
export interface PositionLoss extends TopicPartition {
  readonly cause: PositionLossCause
  /** First offset that was due; null when there was none. */
  readonly expected: bigint | null
  /** Where reading goes on; null when `startFrom` is ERROR: the partition then stands still until a seek. */
  readonly continuesAt: bigint | null
}
