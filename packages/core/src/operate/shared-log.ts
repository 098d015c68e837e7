/** An entry to append. */
export interface SharedLogWrite {
  /** 1 to 600 characters. */
  readonly key: string
  /** JSON, at most 256 KiB as text. Null deletes the key: the entry is read as any other, and dropped after a day. */
  readonly value: unknown
}

/** An entry as all readers see it. */
export interface SharedLogEntry extends SharedLogWrite {
  /** Orders the entries: decimal digits, compared as numbers. */
  readonly position: string
  /** The append time by the clock of the log, which all entries share and no reader has. Epoch milliseconds. */
  readonly atMs: number
}

/** The result of a read. */
export interface SharedLogRead {
  readonly entries: readonly SharedLogEntry[]
  /** Where the next read continues. */
  readonly next: string
  /** Whether the reader has seen everything that was appended before the read began. */
  readonly isAtEnd: boolean
  /** Whether the log was deleted and created again: positions of earlier reads mean nothing, and this read is from the start. */
  readonly isReset: boolean
}

/** How to read. */
export interface SharedLogReadOptions {
  readonly waitMs: number
  readonly signal: AbortSignal
}

/**
 * A small log that the instances of a fleet share: the newest value of each key, in one order for all readers.
 *
 * An entry may be dropped once a newer one of its key exists, so a reader from the start learns the newest value of each key,
 * and not every change. A resolved append is seen by every read that begins after it. An append that rejects may have taken
 * effect. A reader that has seen an entry has seen, or passes over as replaced, all entries before it.
 */
export interface SharedLog {
  append(entries: readonly SharedLogWrite[]): Promise<void>
  /**
   * Returns entries after a position, oldest first. Waits until there are some, at most `waitMs`.
   * @param after - `next` of a read; undefined: from the start
   */
  read(after: string | undefined, options: SharedLogReadOptions): Promise<SharedLogRead>
}
