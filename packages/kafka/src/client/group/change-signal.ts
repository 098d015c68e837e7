/** Rung after each change, so that a loop may wait for any condition without a promise for each. */
export class ChangeSignal {
  #next: PromiseWithResolvers<void> = Promise.withResolvers()

  /** Something has changed. */
  notify(): void {
    const { resolve } = this.#next
    this.#next = Promise.withResolvers()
    resolve()
  }

  /** Resolves once the condition holds. It is asked now and after each ring. */
  async until(holds: () => boolean): Promise<void> {
    while (!holds()) await this.#next.promise
  }

  /** What the work answers; undefined once the condition holds. What becomes of the work then is nobody's concern. */
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
