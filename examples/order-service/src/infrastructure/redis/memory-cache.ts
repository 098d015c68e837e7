import type { OrderCache } from '../../application/port/order-cache.ts'

const mostAnswers = 10_000

/** A cache of one process, without a time to live: changes evict. For the embedded run and for tests. */
export class MemoryOrderCache implements OrderCache {
  readonly #answers = new Map<string, unknown>()
  readonly #generations = new Map<string, number>()

  async read<T>(scope: string, name: string, load: () => Promise<T>): Promise<T> {
    const generation = this.#generations.get(scope) ?? 0
    const key = `order:${scope}:${name}`
    if (this.#answers.has(key)) return this.#answers.get(key) as T
    const loaded = await load()
    const isCurrent = (this.#generations.get(scope) ?? 0) === generation
    if (isCurrent && loaded !== null && this.#answers.size < mostAnswers) this.#answers.set(key, loaded)
    return loaded
  }

  async evict(ownerSubject: string): Promise<void> {
    for (const scope of ['admin', `user:${ownerSubject}`]) {
      this.#generations.set(scope, (this.#generations.get(scope) ?? 0) + 1)
      for (const key of this.#answers.keys()) if (key.startsWith(`order:${scope}:`)) this.#answers.delete(key)
    }
  }
}
