/**
 * Pending work of a transaction or savepoint when its callback has returned, because it was not awaited.
 *
 *   writes      prevent the commit: the rows may not be sent yet, and the rest would be committed without them. They
 *               are not awaited instead, because work that leaves one behind may have left other, invisible
 *               statements behind, so it is unknown what it meant to commit.
 *   statements  are awaited before the end: libraries that check the server first send two, and ROLLBACK or COMMIT must
 *               not come between them, since the second one would then be committed by itself.
 *
 * A nested transaction is both: it ends with the enclosing one, and the statements its library sends for that come
 * first.
 */

interface Write {
  readonly what: () => string
  readonly running: Promise<unknown>
}

/** See the file's comment. */
export class WorkUnderWay {
  readonly #writes = new Set<Write>()
  readonly #answers = new Set<Promise<unknown>>()

  during<T>(what: () => string, work: () => Promise<T>): Promise<T> {
    // Removed before its promise resolves, so that code awaiting it finds it gone.
    const running = work().finally(() => this.#writes.delete(write))
    const write: Write = { what, running }
    this.#writes.add(write)
    return running
  }

  /** @param answer must settle before the transaction is ended */
  async waitedFor<T>(answer: Promise<T>): Promise<T> {
    this.#answers.add(answer)
    try {
      return await answer
    } finally {
      this.#answers.delete(answer)
    }
  }

  /** Returns the names of pending writes. */
  names(): string[] {
    return [...this.#writes].map(({ what }) => what())
  }

  /**
   * Marks pending writes as handled: the transaction's own error reports them, and an unhandled rejection would end the
   * process.
   */
  markHandled(): void {
    for (const { running } of this.#writes) running.catch(() => {})
  }

  /** Resolves when everything awaited has settled, successfully or not. */
  async answered(): Promise<void> {
    while (this.#answers.size > 0) await Promise.allSettled(this.#answers)
  }
}
