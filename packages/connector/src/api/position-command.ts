/** Operator commands that move the positions of a group. */

/** A target position: an offset, the first record at or after a time (epoch ms), or an end of the log. */
export type PositionTarget = { readonly offset: bigint } | { readonly timestampMs: number } | 'EARLIEST' | 'LATEST'

/**
 * Moves the position of some partitions. Forward, the records in between are counted as skipped; backward, they are
 * delivered again, and counting restarts at the target.
 */
export interface SeekPosition {
  readonly to: PositionTarget
  /** Required with an offset, which identifies another record in each partition. @defaultValue all of the topic */
  readonly partitions?: readonly number[]
  /** The retry tier, counted from 1. @defaultValue 0: the source */
  readonly tier?: number
  /** The source topic, if the binding reads several. @defaultValue the only one */
  readonly topic?: string
}

/** Skips single records: each is counted as skipped, and all others are still delivered. */
export interface SkipPosition {
  readonly partition: number
  readonly offsets: readonly bigint[]
  /** @defaultValue 0: the source */
  readonly tier?: number
  /** @defaultValue the only one */
  readonly topic?: string
}

/** Resets positions and counters of all partitions, even if the committed metadata is unreadable. */
export interface ResetPosition {
  readonly to: 'EARLIEST' | 'LATEST' | { readonly timestampMs: number }
  /** @defaultValue 0: the source */
  readonly tier?: number
  /** @defaultValue the only one */
  readonly topic?: string
}

/** A command that moves positions. */
export type PositionCommand =
  | { readonly type: 'SEEK'; readonly seek: SeekPosition }
  | { readonly type: 'SKIP'; readonly skip: SkipPosition }
  | { readonly type: 'RESET'; readonly reset: ResetPosition }

/** The result of a position command for one partition. */
export interface PositionReport {
  readonly topic: string
  readonly partition: number
  /** The next offset before the move; null if nothing was committed. */
  readonly from: bigint | null
  readonly to: bigint
  /** Offsets that were skipped and have no other outcome. */
  readonly skipped: bigint
  /** Offsets that are read again. */
  readonly repeated: bigint
}

/** Returns the tier and topic of the container that a command is for. */
export function whichOf(command: PositionCommand): { readonly tier?: number; readonly topic?: string } {
  switch (command.type) {
    case 'SEEK':
      return command.seek
    case 'SKIP':
      return command.skip
    case 'RESET':
      return command.reset
  }
}
