/** Operator commands for dead letters. src/replay implements them. */

import type { OperatorIdentity } from '@waybill/core'
import type { ReplayTarget } from './binding.ts'
import type { DeadLetterRecord } from './dead-letter-types.ts'

/**
 * A selection of dead letters. `count` alone selects the next ones after the replay position and advances it. A window
 * (epoch ms, `to` excluded) selects those written within it, and leaves the replay position unchanged.
 */
export type ReplaySelection =
  | { readonly count: number }
  | { readonly from: number; readonly to: number; readonly count?: number }

/** Options of a replay. */
export interface ReplayOptions {
  /** @defaultValue `dlt.replay.target` of the binding */
  readonly target?: ReplayTarget
  /** Replays after which a dead letter is skipped. @defaultValue `dlt.replay.maxReplays` of the binding */
  readonly maxReplays?: number
  /** Cancels the replay between two batches. Confirmed copies remain. */
  readonly signal?: AbortSignal
  /** Observes the progress after each batch. */
  readonly onProgress?: (progress: ReplayReport) => void
}

/** The reason a dead letter was skipped. It stays in its topic. */
export type ReplaySkip =
  /** It reached the maximum number of replays. */
  | 'MAX_REPLAYS'
  /** It belongs to another group, or to a topic that this binding does not read. */
  | 'NOT_OURS'
  /** Its headers or its envelope are damaged, so the original cannot be restored. */
  | 'UNREADABLE'
  /** It does not record its original topic, which the target requires. */
  | 'NO_ORIGINAL'
  /** A part of it was too large to copy, and is no longer in the source topic. */
  | 'PARKED_PART_GONE'
  /** It refers to a batch that was too large to read. The source topic has the records while it retains them. */
  | 'OVERSIZED_BATCH'
  /** The broker rejects it as too large or invalid. */
  | 'REFUSED'
  /** The handler of the CUSTOM strategy decided to keep it. */
  | 'KEPT'
  /** The handler of the CUSTOM strategy failed the maximum number of times. */
  | 'HANDLER_FAILED'

/** The result of a replay. */
export interface ReplayReport {
  /** Dead letters copied and confirmed by the broker. */
  readonly replayed: number
  /** Skipped dead letters by reason. */
  readonly skipped: Readonly<Partial<Record<ReplaySkip, number>>>
  /** Offsets of the selection that were not read. */
  readonly remaining: bigint
}

/** A dead letter and its position in the dead letter topic. */
export interface StoredDeadLetter {
  readonly topic: string
  readonly partition: number
  readonly offset: bigint
  /** The time it was dead-lettered, epoch ms. */
  readonly deadAtMs: number
  /** Undefined if another program wrote it and recorded no group. */
  readonly consumerGroup: string | undefined
  readonly replayCount: number
  readonly record: DeadLetterRecord
}

/** The position and origin of a dead letter, without its bytes. */
export interface DeadLetterPlace extends Pick<StoredDeadLetter, 'topic' | 'partition' | 'offset' | 'deadAtMs'> {
  readonly originalTopic: string
  readonly originalPartition: number
  readonly originalOffset: bigint
  readonly lastExceptionClass: string
}

/** The current content of a binding's dead letter topics. */
export interface DeadLetterStats {
  /** The dead letter topics: one for each topic that the binding reads. */
  readonly topics: readonly string[]
  /** Dead letters of this binding. */
  readonly count: number
  /** Records of other groups or other source topics. */
  readonly others: number
  readonly oldest: DeadLetterPlace | undefined
  readonly newest: DeadLetterPlace | undefined
  /** Counts by exception class: at most 50 classes, and the rest as `other`. */
  readonly byException: Readonly<Record<string, number>>
  /** Offsets after the replay position, which no replay has read. */
  readonly notReplayed: bigint
}

/** The progress of a scan. */
export interface ScanProgress {
  readonly read: number
  /** The number of offsets to scan; some may hold no record. */
  readonly of: bigint
}

/** Options of a scan. */
export interface ScanOptions {
  readonly signal?: AbortSignal
  /** Observes the progress after each batch. */
  readonly onProgress?: (progress: ScanProgress) => void
}

/** Options of a purge. */
export interface PurgeOptions extends ScanOptions {
  /** Deletes the dead letters of other groups, too. A purge that would delete any is refused otherwise. */
  readonly includeOtherGroups?: boolean
  /** Deletes nothing, and reports what a purge would delete. */
  readonly dryRun?: boolean
}

/** The dead letters of one group. */
export interface DeadLettersOfGroup {
  /** Undefined for dead letters that name no group: they are not another group's. */
  readonly consumerGroup: string | undefined
  readonly count: number
}

/** The result of a purge. */
export interface PurgeReport {
  /** Offsets that were deleted; with `dryRun`, those that a purge would delete. */
  readonly purged: bigint
  /** The offsets among them that no replay had read. */
  readonly notReplayed: bigint
  /** The dead letters among them by group: at most 50 groups, and the rest as `other`. */
  readonly byGroup: readonly DeadLettersOfGroup[]
}

/** Replays, releases, purges and reads the dead letters of a binding. */
export interface DeadLetterAdmin {
  /** Replays dead letters. Rejects with ReplayInterruptedError, which has the report, if it could not continue. */
  replayDlt(binding: string, which: ReplaySelection & ReplayOptions, operator: OperatorIdentity): Promise<ReplayReport>
  /** Copies dead letters to a retry tier, counted from 1. @throws ArgumentError for a tier that does not exist */
  replayToTier(
    binding: string,
    tier: number,
    which: ReplaySelection & Omit<ReplayOptions, 'target'>,
    operator: OperatorIdentity,
  ): Promise<ReplayReport>
  /**
   * Unblocks the keys of dead letters without delivering these, if `keyOrder.onDeadKey` is BLOCK.
   * @throws ArgumentError if dead letters of the binding block no key
   */
  releaseDlt(
    binding: string,
    which: ReplaySelection & Pick<ReplayOptions, 'signal' | 'onProgress'>,
    operator: OperatorIdentity,
  ): Promise<ReplayReport>
  /**
   * Deletes dead letters written more than `olderThanMs` ago: in each partition, from its start up to the first younger
   * one. 0 deletes all current dead letters. Reads what it deletes, to count it by group.
   * @throws OtherGroupsDeadLettersError if dead letters of another group are among them
   */
  purgeDlt(
    binding: string,
    olderThanMs: number,
    operator: OperatorIdentity,
    options?: PurgeOptions,
  ): Promise<PurgeReport>
  /** Counts the dead letters. Scans the whole topic in bounded memory. */
  dltStats(binding: string, operator: OperatorIdentity, options?: ScanOptions): Promise<DeadLetterStats>
  /**
   * Streams the dead letters of a binding in bounded memory, optionally only those written within a window. The audit log
   * has an entry before the first and one after the last.
   */
  deadLetters(
    binding: string,
    operator: OperatorIdentity,
    options?: ScanOptions & { readonly from?: number; readonly to?: number },
  ): AsyncIterable<StoredDeadLetter>
}
