/**
 * Marks of what had its effect, in a place of their own beside it. A crash between effect and mark repeats the effect;
 * where that must not be, an `Inbox` writes both in one transaction (I9).
 */
export interface IdempotencyStore {
  /** Whether the key is marked for this consumer. A failure is no answer: it rejects, and the record is tried again. */
  seen(consumer: string, key: string): Promise<boolean>
  /** Marks the key. Marking it twice is no error. */
  mark(consumer: string, key: string): Promise<void>
  /**
   * Asked before a binding starts. Answers the error that says what has to be made first (a table), and the binding is
   * refused with it; undefined: nothing. After a rejection, which decides nothing, the binding starts.
   */
  missing?(): Promise<Error | undefined>
}
