import type { IdempotencyStore } from '@waybill/core'
import type { KafkaRecord } from '@waybill/kafka'
import type { KeyOf, MarkKeys } from './deduplication-key.ts'

/** The marks of a binding's records in a store, and those that this process knows by itself. */
export class RecordMarks {
  readonly keyOf: KeyOf
  readonly #store: IdempotencyStore
  /** The consumer that owns the marks: the binding's group, on its tiers too. */
  readonly #groupId: string
  /**
   * Records that had their effect, marked or not. While one stays in memory it is not handled again, however long the
   * store is unavailable.
   */
  readonly #handled = new WeakSet<KafkaRecord>()

  /** Records of batches that are marked: a retry of the marks of their batch leaves them out. */
  readonly #marked = new WeakSet<KafkaRecord>()

  constructor(store: IdempotencyStore, groupId: string, keyOf: KeyOf) {
    this.#store = store
    this.#groupId = groupId
    this.keyOf = keyOf
  }

  /** Looks both keys up at once, which takes as long as one. */
  async seen({ key, former }: MarkKeys): Promise<boolean> {
    if (former === undefined) return this.#store.seen(this.#groupId, key)
    const found = await Promise.all([this.#store.seen(this.#groupId, key), this.#store.seen(this.#groupId, former)])
    return found.includes(true)
  }

  /** True when the record had its effect; only its mark may be missing. */
  isHandled(record: KafkaRecord): boolean {
    return this.#handled.has(record)
  }

  /** Notes that the handler succeeded. */
  handled(record: KafkaRecord): void {
    this.#handled.add(record)
  }

  /** True when its mark is known to be written. */
  isMarked(record: KafkaRecord): boolean {
    return this.#marked.has(record)
  }

  /** Notes that its mark is written. */
  marked(record: KafkaRecord): void {
    this.#marked.add(record)
  }

  mark({ key }: MarkKeys): Promise<void> {
    return this.#store.mark(this.#groupId, key)
  }
}
