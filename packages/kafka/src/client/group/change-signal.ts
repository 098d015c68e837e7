/**
 * Lets loops wait for any condition over shared state. Notified after each change of that state, so that no condition
 * needs a promise of its own.
 */
export class ChangeSignal {
  #next: PromiseWithResolvers<void> = Promise.withResolvers()

  /** Makes every waiting loop check its condition again. */
  notify(): void {
    const { resolve } = this.#next
    this.#next = Promise.withResolvers()
    resolve()
  }

  /** Resolves once the condition holds. Checks it now and after each notification. */
  async until(holds: () => boolean): Promise<void> {
    while (!holds()) await this.#next.promise
  }

  /**
   * Resolves with the result of the work; undefined if the condition holds first. The outcome of the work is then
   * ignored.
   */
  async unless<T>(isOver: () => boolean, work: Promise<T>): Promise<T | undefined> {
    let isSettled = false
    work.catch(() => {})
    const interrupted = this.until(() => isSettled || isOver()).then(() => undefined)
    try {
      return await Promise.race([work, interrupted])
    } finally {
      isSettled = true
      this.notify()
    }
  }
}
