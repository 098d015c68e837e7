import type { OffsetCommit } from './offset-commit.ts'

/** Identifies the member that commits offsets in a transaction, so that the broker can refuse a stale one. */
export interface GroupMetadata {
  readonly groupId: string
  readonly generationId: number
  readonly memberId: string
  readonly instanceId: string | null
  /**
   * Returns why this offset must not be committed any more; undefined when it may. Checked in the same turn in which
   * the offset is sent: Kafka fences by generation, not by ownership, and accepts an offset of a partition that its
   * sender has released (I3). Without it, as in hand-written metadata, the broker's fencing is the only one.
   */
  readonly objection?: (offset: OffsetCommit) => string | undefined
}
