import type { TopicPartition } from '../cluster/topic-partition.ts'

/**
 * The cause of a lost position:
 * - OUT_OF_RANGE: the log does not have the expected offset, any more or yet.
 * - LOG_CUT: a leader that lacked records was elected, so offsets from `continuesAt` on mean other records.
 * - TOPIC_REPLACED: the topic was deleted and created again, so its offsets mean other records. The assignment ends
 *   (`onLost`) and a new one begins under another epoch (`onAssigned`), at the first record unless `startFrom` is
 *   ERROR.
 * - NO_OFFSET: the group has not committed an offset, and `startFrom` is ERROR.
 */
export type PositionLossCause = 'OUT_OF_RANGE' | 'LOG_CUT' | 'TOPIC_REPLACED' | 'NO_OFFSET'

/** A partition whose next offset has changed, or is unknown. */
export interface PositionLoss extends TopicPartition {
  readonly cause: PositionLossCause
  /** The offset that was next; null when there was none. */
  readonly expected: bigint | null
  /** The offset where reading continues; null when `startFrom` is ERROR, which blocks the partition until a seek. */
  readonly continuesAt: bigint | null
}
