import type { IdempotencyStore } from './idempotency-store.ts'

/**
 * Marks of what had its effect, written in the effect's own transaction: both commit or neither, so a repeat has no
 * second effect (I9).
 */
export interface Inbox<Tx> {
  /**
   * Opens a transaction, marks the key for this consumer, and runs the effect in it. DUPLICATE: it was marked before, and
   * the effect was not run. Rejects with what the effect throws, after a rollback; a COMMIT without an answer rejects
   * too, and the repeat finds out.
   *
   * @param consumer who has the effect: a consumer group. Several may share one table.
   * @param key what is recognised again: an event id.
   * @param former a key under which another version may have marked the same event: if it is marked, DUPLICATE too.
   */
  run(consumer: string, key: string, effect: (tx: Tx) => Promise<void>, former?: string): Promise<'DONE' | 'DUPLICATE'>
  /** See {@link IdempotencyStore}. */
  readonly missing?: IdempotencyStore['missing']
}
