/**
 * A word from node to node that rows were committed, for those that neither wrote nor are about to poll them. A hint: one
 * that is lost only costs the wait for the next look.
 */
export interface WakeUp {
  /** Tells every node that listens, outside any transaction of the application. */
  announce(): Promise<void>
  /**
   * Calls `wake` at each word, own ones included, until disposed; resolves when it listens. `lost` is called once when it
   * stops listening by itself.
   */
  listen(wake: () => void, lost: (error: unknown) => void): Promise<AsyncDisposable>
}
