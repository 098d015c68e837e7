import type { OrderCache } from '../../application/port/order-cache.ts'

const mostAnswers = 10_000

/** A cache of one process, without a time to live: changes evict. For the embedded run and for tests. */
export class MemoryOrderCache implements OrderCache {
  /** The oldest first. */
  readonly #answers = new Map<string, unknown>()
  #changes = 0

  async read<T>(scope: string, name: string, load: () => Promise<T>): Promise<T> {
    const key = `order:${scope}:${name}`
    if (this.#answers.has(key)) return this.#answers.get(key) as T
    const changes = this.#changes
    const loaded = await load()
    // After a change, whosever it was, the answer may be older than the change.
    if (loaded !== null && this.#changes === changes) this.#answers.set(key, loaded)
    for (const oldest of this.#answers.keys()) {
      if (this.#answers.size <= mostAnswers) break
      this.#answers.delete(oldest)
    }
    return loaded
  }

  async evict(ownerSubject: string): Promise<void> {
    this.#changes++
    for (const scope of ['admin', `user:${ownerSubject}`])
      for (const key of this.#answers.keys()) if (key.startsWith(`order:${scope}:`)) this.#answers.delete(key)
  }
}
