/** Operator commands for dead letters. src/replay implements them. */

import type { OperatorIdentity } from '@waybill/core'
import type { OffsetRange } from '@waybill/kafka/internal'
import type { ReplayTarget } from './binding.ts'
import type {
  DeadLetterPosition,
  DeadLetterReplay,
  DeadLetterSelection,
  SelectedReplayOptions,
} from './dead-letter-selection.ts'
import type { ReplaySkip, StoredDeadLetter } from './dead-letter-types.ts'

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

/** The result of a replay. */
export interface ReplayReport {
  /** Dead letters copied and confirmed by the broker. */
  readonly replayed: number
  /** Skipped dead letters by reason. */
  readonly skipped: Readonly<Partial<Record<ReplaySkip, number>>>
  /** Offsets of the selection that were not read. */
  readonly remaining: bigint
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
  /** The offsets, from the start of each partition. */
  readonly ranges: readonly OffsetRange[]
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
  /** Returns the offsets that the dead letter topics hold now, from a time (epoch ms) on: they freeze a selection. */
  deadLetterRanges(
    binding: string,
    operator: OperatorIdentity,
    options?: { readonly from?: number },
  ): Promise<readonly OffsetRange[]>
  /**
   * Opens a replay of a selection in steps, for callers with a pace and checkpoints of their own. It moves no replay position.
   * The audit log has an entry when it is opened and one when it is disposed of.
   * @throws ArgumentError for a target that the binding does not have
   */
  openReplay(
    binding: string,
    selection: DeadLetterSelection,
    options: SelectedReplayOptions,
    operator: OperatorIdentity,
  ): Promise<DeadLetterReplay>
  /** Replays or releases single dead letters, without moving the replay position. */
  replayDeadLetters(
    binding: string,
    positions: readonly DeadLetterPosition[],
    options: Pick<SelectedReplayOptions, 'to' | 'maxReplays' | 'edit'>,
    operator: OperatorIdentity,
  ): Promise<ReplayReport>
  /** Returns the dead letter at a position; undefined if there is none, or if it belongs to another binding. */
  deadLetter(
    binding: string,
    position: DeadLetterPosition,
    operator: OperatorIdentity,
  ): Promise<StoredDeadLetter | undefined>
  /**
   * Deletes dead letters up to the ends of frozen ranges, those of other groups too: see `ranges` of a purge with `dryRun`.
   * @returns the number of offsets that this call deleted
   */
  purgeDltRanges(binding: string, ranges: readonly OffsetRange[], operator: OperatorIdentity): Promise<bigint>
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
