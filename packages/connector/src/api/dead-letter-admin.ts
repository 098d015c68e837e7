/** What an operator does with dead letters (S0-138…141). Implemented by connector/replay. */

import type { ReplayTarget } from './binding.ts'
import type { OperatorIdentity } from './control.ts'
import type { DeadLetterRecord } from './dead-letter-types.ts'

/**
 * Which dead letters. `count` alone: the next ones behind where the last replay ended, and that position moves. A window
 * (epoch ms, `to` is not in it): those written within it, wherever the position is; it stays there.
 */
export type ReplaySelection =
  | { readonly count: number }
  | { readonly from: number; readonly to: number; readonly count?: number }

/** How a replay is made. */
export interface ReplayOptions {
  /** @defaultValue that of the binding (`dlt.replay.target`) */
  readonly target?: ReplayTarget
  /** Dead letters that were replayed so often are passed over. @defaultValue that of the binding (`dlt.replay.maxReplays`) */
  readonly maxReplays?: number
  /** Ends it between two batches. What was confirmed by then stays replayed. */
  readonly signal?: AbortSignal
  /** Is told after each batch. */
  readonly onProgress?: (progress: ReplayReport) => void
}

/** Why a dead letter was passed over. It stays where it is. */
export type ReplaySkip =
  /** It was replayed as often as is allowed. */
  | 'MAX_REPLAYS'
  /** It is of another group, or of a topic that this binding does not read. */
  | 'NOT_OURS'
  /** Its headers or its envelope are damaged: what would be sent is not the original. */
  | 'UNREADABLE'
  /** It does not say where it came from, and the target has to know. */
  | 'NO_ORIGINAL'
  /** A part of it was too large to come along, and is no longer where it was left. */
  | 'PARKED_PART_GONE'
  /** The broker will not take it: too large, or not valid. */
  | 'REFUSED'
  /** The handler of CUSTOM decided so. */
  | 'KEPT'
  /** The handler of CUSTOM failed over it as often as is allowed. */
  | 'HANDLER_FAILED'

/** What became of a replay. */
export interface ReplayReport {
  /** Copied, and confirmed by the broker. */
  readonly replayed: number
  /** Passed over, by reason. */
  readonly skipped: Readonly<Partial<Record<ReplaySkip, number>>>
  /** Offsets of the selection that were not looked at. */
  readonly remaining: bigint
}

/** A dead letter where it lies. */
export interface StoredDeadLetter {
  readonly topic: string
  readonly partition: number
  readonly offset: bigint
  /** When it became one, epoch ms. */
  readonly deadAtMs: number
  /** Undefined when it does not say: somebody else wrote it. */
  readonly consumerGroup: string | undefined
  readonly replayCount: number
  readonly record: DeadLetterRecord
}

/** Where and when a dead letter lies, without its bytes. */
export interface DeadLetterPlace extends Pick<StoredDeadLetter, 'topic' | 'partition' | 'offset' | 'deadAtMs'> {
  readonly originalTopic: string
  readonly originalPartition: number
  readonly originalOffset: bigint
  readonly lastExceptionClass: string
}

/** What lies in the dead letter topics of a binding now. */
export interface DeadLetterStats {
  /** Where they lie: one topic for each that the binding reads. */
  readonly topics: readonly string[]
  /** Dead letters of this binding. */
  readonly count: number
  /** What else lies in the topic: of other groups, of other topics. */
  readonly others: number
  readonly oldest: DeadLetterPlace | undefined
  readonly newest: DeadLetterPlace | undefined
  /** At most 50 classes; the rest is `other`. */
  readonly byException: Readonly<Record<string, number>>
  /** Offsets behind the position of replays: not yet looked at by any. */
  readonly notReplayed: bigint
}

/** How far a look through a topic has come. */
export interface ScanProgress {
  readonly read: number
  /** Offsets, of which some may hold no record. */
  readonly of: bigint
}

/** How a topic is looked through. */
export interface ScanOptions {
  readonly signal?: AbortSignal
  /** Is told after each batch. */
  readonly onProgress?: (progress: ScanProgress) => void
}

/** What a purge took away. */
export interface PurgeReport {
  /** Offsets that were given up. */
  readonly purged: bigint
  /** Of them those that no replay had looked at. */
  readonly notReplayed: bigint
}

/** Dead letters of a binding. */
export interface DeadLetterAdmin {
  /** Copies dead letters back. Rejects with ReplayInterruptedError when it could not go on: the error has the report. */
  replayDlt(binding: string, which: ReplaySelection & ReplayOptions, operator: OperatorIdentity): Promise<ReplayReport>
  /** Copies dead letters to a retry tier, counted from 1. @throws ArgumentError for one that the binding does not have. */
  replayToTier(
    binding: string,
    tier: number,
    which: ReplaySelection & Omit<ReplayOptions, 'target'>,
    operator: OperatorIdentity,
  ): Promise<ReplayReport>
  /**
   * Lets the keys of dead letters go on without them, where `keyOrder.onDeadKey` is BLOCK.
   * @throws ArgumentError where dead letters block nothing.
   */
  releaseDlt(
    binding: string,
    which: ReplaySelection & Pick<ReplayOptions, 'signal' | 'onProgress'>,
    operator: OperatorIdentity,
  ): Promise<ReplayReport>
  /**
   * Deletes what is older than this age, by the time it was written: from the beginning of each partition up to the first
   * dead letter that is not (C-19). 0 deletes all there are now.
   */
  purgeDlt(binding: string, olderThanMs: number, operator: OperatorIdentity): Promise<PurgeReport>
  /** Reads the whole topic, in little memory. */
  dltStats(binding: string, options?: ScanOptions): Promise<DeadLetterStats>
  /** The dead letters of a binding one after the other, in little memory; of a window those written within it. */
  deadLetters(
    binding: string,
    options?: ScanOptions & { readonly from?: number; readonly to?: number },
  ): AsyncIterable<StoredDeadLetter>
}
