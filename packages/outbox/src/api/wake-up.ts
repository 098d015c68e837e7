/**
 * A signal between nodes that rows were committed, for nodes that did not write them and are not about to poll. It is
 * only a hint: a lost signal costs the wait until the next poll.
 */
export interface WakeUp {
  /** Signals every listening node, outside any transaction of the application. */
  announce(): Promise<void>
  /**
   * Calls `wake` at each signal, own ones included, until disposed; resolves once it listens. Calls `lost` once if it
   * stops listening by itself.
   */
  listen(wake: () => void, lost: (error: unknown) => void): Promise<AsyncDisposable>
  /**
   * Throws if it can never listen beside what runs already, because its connection pool is too small. Called when the
   * outbox starts; other failures to listen are retried.
   */
  requireConnection?(): void
}
