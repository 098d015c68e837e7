/** Selections of dead letters, and their replay in steps. src/replay implements them. */

import type { Buffer } from 'node:buffer'
import type { OffsetRange } from '@waybill/kafka/internal'
import type { ReplayTarget } from './binding.ts'
import type { ReplaySkip, StoredDeadLetter } from './dead-letter-types.ts'

/** The position of a dead letter in its topic. */
export type DeadLetterPosition = Pick<StoredDeadLetter, 'topic' | 'partition' | 'offset'>

/**
 * Offset ranges of dead letter topics, and a predicate over the dead letters in them. It does not change when more dead
 * letters are written, and reading it moves no position.
 */
export interface DeadLetterSelection {
  readonly ranges: readonly OffsetRange[]
  /**
   * Returns whether a dead letter of the binding is selected. A text refuses it, and is counted as the reason.
   * @defaultValue all are selected
   */
  readonly where?: ((letter: StoredDeadLetter) => boolean | string | Promise<boolean | string>) | undefined
}

/** A change of the copy of a dead letter. Its key cannot be edited: it decides the partition and the order. */
export interface DeadLetterEdit {
  /** @defaultValue the value of the dead letter */
  readonly value?: Buffer | null | undefined
  /** Headers of the application to replace. @defaultValue none */
  readonly setHeaders?: Readonly<Record<string, string>> | undefined
  /** Headers of the application to leave out. @defaultValue none */
  readonly removeHeaders?: readonly string[] | undefined
}

/** Options of a replay in steps. */
export interface SelectedReplayOptions {
  /** The destination: a target, a tier counted from 1, or a release of the keys without a copy. */
  readonly to: ReplayTarget | { readonly tier: number } | 'RELEASE'
  /** Replays after which a dead letter is refused. @defaultValue `dlt.replay.maxReplays` of the binding */
  readonly maxReplays?: number | undefined
  /** The id of an operation, which the copies name. @defaultValue none */
  readonly operation?: string | undefined
  /** @defaultValue none: the copies equal their originals */
  readonly edit?: DeadLetterEdit | undefined
  /** The name of the operator who edits, for the copies. */
  readonly editedBy?: string | undefined
  /** Reads and decides, but refuses to write. Leaves no entry in the audit log. @defaultValue false */
  readonly dryRun?: boolean | undefined
}

/** A dead letter to copy. */
export interface SelectedDeadLetter extends DeadLetterPosition {
  readonly key: Buffer | null
  /** The size of key and value. */
  readonly bytes: number
  readonly originalTopic: string
  readonly originalPartition: number
  readonly originalOffset: bigint
}

/** A dead letter that is not copied. */
export interface RefusedDeadLetter extends DeadLetterPosition {
  /** A reason of the engine, or a text of the predicate. */
  readonly reason: ReplaySkip | (string & {})
}

/** Dead letters that were read and decided. */
export interface ReplayBatch {
  /** The number of records read, with those that are not selected. */
  readonly scanned: number
  /** In the order of their partitions. */
  readonly selected: readonly SelectedDeadLetter[]
  readonly refused: readonly RefusedDeadLetter[]
  /** The ranges that are not read yet. */
  readonly remaining: readonly OffsetRange[]
}

/** The outcomes of writing the copies of a batch. */
export interface SentBatch {
  /** Confirmed by the broker. */
  readonly sent: readonly DeadLetterPosition[]
  /** Rejected for their content. */
  readonly refused: readonly RefusedDeadLetter[]
  /** Certainly not written. */
  readonly unsent: readonly DeadLetterPosition[]
  /** Written or not: the broker did not answer. */
  readonly unknown: readonly DeadLetterPosition[]
  /** The first failure; undefined if none is unsent or unknown. */
  readonly failure: Error | undefined
}

/**
 * Replays a selection in steps. The caller decides about the pace, and stores what is done: nothing is committed, and a
 * batch that was not sent can be dropped.
 */
export interface DeadLetterReplay extends AsyncDisposable {
  /** The topics that copies are written to. */
  readonly targets: readonly string[]
  /** Reads until `maxSelected` dead letters are selected or 1,000 records are read; undefined at the end. */
  next(maxSelected: number): Promise<ReplayBatch | undefined>
  /**
   * Writes the copies of a batch. Never rejects because of the broker: the result tells what is known of each.
   * @throws StateError for a dry run
   */
  send(batch: ReplayBatch): Promise<SentBatch>
}
