/**
 * Marks of requests, each a text with a time after which it is gone. A store decides nothing: it compares and sets, so
 * that of two requests with one key exactly one sets its mark.
 *
 * A store keeps names of up to 1,600 bytes and marks of up to 64,000 bytes of UTF-8, byte for byte.
 */
export interface RequestStore {
  /** Returns the mark of a name; null if there is none or its time is over. */
  read(name: string): Promise<string | null>
  /**
   * Sets the mark if the present one equals `expected` (null: there is none), in one atomic step.
   *
   * @returns whether it was set
   */
  compareAndSet(name: string, expected: string | null, mark: string, ttlMs: number): Promise<boolean>
  /** Deletes the mark if it equals `expected`, in one atomic step. @returns whether it was deleted */
  compareAndDelete(name: string, expected: string): Promise<boolean>
}
