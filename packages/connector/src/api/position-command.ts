/** How an operator moves what a group reads next. */

/** Where to: an offset, the first record at or after a time (epoch ms), or an end of the log. */
export type PositionTarget = { readonly offset: bigint } | { readonly timestampMs: number } | 'EARLIEST' | 'LATEST'

/**
 * Goes to another place in some partitions. Forward, what lies between has been skipped, and is counted as such;
 * backward, it is delivered again, and counting begins anew at the target.
 */
export interface SeekPosition {
  readonly to: PositionTarget
  /** Required with an offset: the same number means another record in each partition. @defaultValue all of the topic */
  readonly partitions?: readonly number[]
  /** Of the source, or of a retry tier, counted from 1. @defaultValue 0: the source */
  readonly tier?: number
  /** Which source, where the binding reads several. @defaultValue the only one */
  readonly topic?: string
}

/** Passes over records that nobody will handle: each is counted as skipped, and all others stay to be delivered. */
export interface SkipPosition {
  readonly partition: number
  readonly offsets: readonly bigint[]
  /** @defaultValue 0: the source */
  readonly tier?: number
  /** @defaultValue the only one */
  readonly topic?: string
}

/** Begins anew in all partitions: position and counters, also where what is committed cannot be read. */
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

/** What became of one partition. */
export interface PositionReport {
  readonly topic: string
  readonly partition: number
  /** What was to be read next before; null when the group had nothing committed. */
  readonly from: bigint | null
  readonly to: bigint
  /** Records, or places of records, that were passed over and have no other outcome. */
  readonly skipped: bigint
  /** Places that are read again. */
  readonly repeated: bigint
}

/** Which container of the binding a command is for. */
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
