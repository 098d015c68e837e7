import type { IdempotencyStore } from '@waybill/core'
import type { KafkaRecord } from '@waybill/kafka'
import type { KeyOf } from './deduplication-key.ts'

/** The marks of a binding's records in a store, and what this process knows beside it. */
export class RecordMarks {
  readonly keyOf: KeyOf
  readonly #store: IdempotencyStore
  /** The consumer that marks belong to: the binding's group, on its tiers too. */
  readonly #groupId: string
  /**
   * Records that had their effect, marked or not. As long as one stays in memory it is not handled again, however long
   * the store is away.
   */
  readonly #handled = new WeakSet<KafkaRecord>()

  /** Those of batches whose mark is written: it is not written again because others of their batch have none yet. */
  readonly #marked = new WeakSet<KafkaRecord>()

  constructor(store: IdempotencyStore, groupId: string, keyOf: KeyOf) {
    this.#store = store
    this.#groupId = groupId
    this.keyOf = keyOf
  }

  seen(key: string): Promise<boolean> {
    return this.#store.seen(this.#groupId, key)
  }

  /** Whether at most its mark is missing. */
  isHandled(record: KafkaRecord): boolean {
    return this.#handled.has(record)
  }

  /** The handler succeeded. */
  handled(record: KafkaRecord): void {
    this.#handled.add(record)
  }

  /** Whether its mark is written, as far as was told. */
  isMarked(record: KafkaRecord): boolean {
    return this.#marked.has(record)
  }

  /** Its mark is written. */
  marked(record: KafkaRecord): void {
    this.#marked.add(record)
  }

  mark(key: string): Promise<void> {
    return this.#store.mark(this.#groupId, key)
  }
}
