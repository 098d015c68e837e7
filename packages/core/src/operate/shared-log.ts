/** An entry to append. A null value deletes the key. */
export interface SharedLogWrite {
  readonly key: string
  /** JSON, at most 256 KiB as text. */
  readonly value: unknown
}

/** An entry as all readers see it. */
export interface SharedLogEntry extends SharedLogWrite {
  /** Orders the entries: decimal digits, compared as numbers. */
  readonly position: string
}

/** The result of a read. */
export interface SharedLogRead {
  readonly entries: readonly SharedLogEntry[]
  /** Where the next read continues. */
  readonly next: string
  /** Whether the reader has seen everything that was appended before the read began. */
  readonly isAtEnd: boolean
}

/**
 * A small log that the instances of a fleet share: the newest value of each key, in one order for all readers.
 *
 * An entry may be dropped once a newer one of its key exists, so a reader from the start learns the newest value of each key,
 * and not every change. A resolved append is seen by every read that begins after it. An append that rejects may have taken
 * effect.
 */
export interface SharedLog {
  append(entries: readonly SharedLogWrite[]): Promise<void>
  /**
   * Returns entries after a position, oldest first. Waits until there are some, at most `waitMs`.
   * @param after - `next` of a read; undefined: from the start
   */
  read(
    after: string | undefined,
    options: { readonly waitMs: number; readonly signal: AbortSignal },
  ): Promise<SharedLogRead>
}
