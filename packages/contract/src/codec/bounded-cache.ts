/** Results of asynchronous look-ups, by key: bounded, and with at most one look-up of a key at a time. */

/** The result of a look-up, or the look-up itself. */
type Cached<V> = { readonly value: V } | { readonly pending: Promise<V> }

/** Keeps the results that were used last. A failed look-up is not kept: the next call repeats it. */
export class BoundedCache<K, V> {
  readonly #maxEntries: number
  /** In the order of their last use. */
  readonly #entries = new Map<K, Cached<V>>()

  constructor(maxEntries: number) {
    this.#maxEntries = maxEntries
  }

  /** Returns the result of an earlier look-up at once, and looks up otherwise. */
  get(key: K, lookUp: () => Promise<V>): V | Promise<V> {
    const known = this.#entries.get(key)
    if (known === undefined) return this.#start(key, lookUp)
    this.#entries.delete(key)
    this.#entries.set(key, known)
    return 'value' in known ? known.value : known.pending
  }

  /** Forgets a result, so that the next call looks it up. */
  delete(key: K): void {
    this.#entries.delete(key)
  }

  #start(key: K, lookUp: () => Promise<V>): Promise<V> {
    const pending = lookUp().then(
      (value) => {
        if (this.#entries.get(key) === entry) this.#entries.set(key, { value })
        return value
      },
      (error: unknown) => {
        if (this.#entries.get(key) === entry) this.#entries.delete(key)
        throw error
      },
    )
    const entry: Cached<V> = { pending }
    this.#entries.set(key, entry)
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= this.#maxEntries) break
      this.#entries.delete(oldest)
    }
    return pending
  }
}
