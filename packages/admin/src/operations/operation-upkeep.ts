/** Cancels plans that expired, and deletes operations that ended long ago. */

import type { Runtime } from '@waybill/core'
import type { OperationStore } from '@waybill/core/internal'
import { repeatEvery } from './repeat-every.ts'

const everyMs = 3_600_000
/** Operations that one transaction deletes. */
const most = 200

/** See the file's comment. */
export class OperationUpkeep {
  readonly #store: Pick<OperationStore, 'purge'>
  readonly #keepMs: number
  readonly #runtime: Runtime
  readonly #closing = new AbortController()
  #running: Promise<void> | undefined

  constructor(store: Pick<OperationStore, 'purge'>, keepMs: number, runtime: Runtime) {
    this.#store = store
    this.#keepMs = keepMs
    this.#runtime = runtime
  }

  start(): void {
    const { signal } = this.#closing
    this.#running ??= repeatEvery(this.#runtime, { everyMs, signal }, () => this.#purge())
  }

  /** Never rejects. */
  async close(): Promise<void> {
    this.#closing.abort()
    await this.#running
  }

  /** Never rejects. */
  async #purge(): Promise<void> {
    try {
      let deleted = most
      while (deleted === most && !this.#closing.signal.aborted) deleted = await this.#store.purge(this.#keepMs, most)
    } catch (err) {
      this.#runtime.logger.warn({ err }, 'Old operations not deleted, retrying')
    }
  }
}
