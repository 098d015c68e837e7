/**
 * What is under way in a transaction, or in a savepoint of it, when its work has ended: nobody awaited it.
 *
 *   writes      keep it from being committed: the rows may not be sent yet, and the rest would be committed without them.
 *               They are not waited for instead, because work that leaves one behind may have left other statements behind
 *               which nobody sees: what it meant to commit is not known.
 *   statements  are waited for before it is ended: libraries that ask the server first send two, and ROLLBACK or COMMIT
 *               must not come between them, since the second one would then be committed by itself.
 *
 * A nested transaction is both: it ends with the one around it, and what its library sends for that has to come first.
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
    // Over before its promise says so: whoever awaits that finds it gone.
    const running = work().finally(() => this.#writes.delete(write))
    const write: Write = { what, running }
    this.#writes.add(write)
    return running
  }

  /** @param answer has to be there before the transaction is ended */
  async waitedFor<T>(answer: Promise<T>): Promise<T> {
    this.#answers.add(answer)
    try {
      return await answer
    } finally {
      this.#answers.delete(answer)
    }
  }

  /** What has not ended. */
  names(): string[] {
    return [...this.#writes].map(({ what }) => what())
  }

  /** The transaction ends, and says how. What is under way fails by that: told a second time, to nobody, it would end the process. */
  excuse(): void {
    for (const { running } of this.#writes) running.catch(() => {})
  }

  /** Resolves when everything that is waited for has come, well or not. */
  async answered(): Promise<void> {
    while (this.#answers.size > 0) await Promise.allSettled(this.#answers)
  }
}
