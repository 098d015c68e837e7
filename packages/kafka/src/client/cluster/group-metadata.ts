import type { OffsetCommit } from './offset-commit.ts'

/** Proves to a transaction which member commits: a stale one is refused. */
export interface GroupMetadata {
  readonly groupId: string
  readonly generationId: number
  readonly memberId: string
  readonly instanceId: string | null
  /**
   * Why this offset must not be committed any more; undefined when it may. Asked in the turn in which the offset is sent:
   * Kafka fences by generation, not by ownership, and takes an offset of a partition that its sender has given up (I3).
   * Without it, as in metadata that was made by hand, the broker's fence is the only one.
   */
  readonly objection?: (offset: OffsetCommit) => string | undefined
}
