/**
 * Appends the entries of one process, one append at a time, so that they are in the log in the order in which they were
 * given.
 *
 *     add   once: rejects if the append fails, since the caller has to decide what an unknown outcome means
 *     put   until it succeeds, the newest value of each key: repeating it changes nothing
 */

import { describeThrown, type Runtime } from '@waybill/core'
import type { SharedLog, SharedLogWrite } from '@waybill/core/internal'

/** An entry that is appended once. */
interface Added {
  readonly write: SharedLogWrite
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/** Entries of one append. */
const batchSize = 100

/** Keys that wait while the log does not accept anything. The oldest make room. */
const mostKept = 5_000

const firstBackoffMs = 200
const longestBackoffMs = 5_000

/** See the file's comment. */
export class LogWriter {
  readonly #log: SharedLog
  readonly #runtime: Pick<Runtime, 'timers' | 'logger'>
  readonly #signal: AbortSignal
  readonly #added: Added[] = []
  readonly #kept = new Map<string, unknown>()
  #running: Promise<void> | undefined
  #backoffMs = firstBackoffMs

  constructor(log: SharedLog, runtime: Pick<Runtime, 'timers' | 'logger'>, signal: AbortSignal) {
    this.#log = log
    this.#runtime = runtime
    this.#signal = signal
  }

  /** Appends an entry. @throws the error of the log: the entry may have been appended */
  add(write: SharedLogWrite): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#added.push({ write, resolve, reject })
      this.#start()
    })
  }

  /** Appends an entry now or later. */
  put({ key, value }: SharedLogWrite): void {
    // Deleted and set, so that it is behind the others.
    this.#kept.delete(key)
    this.#kept.set(key, value)
    if (this.#kept.size > mostKept) {
      const oldest = this.#kept.keys().next()
      if (oldest.done !== true) this.#kept.delete(oldest.value)
      this.#runtime.logger.warn({ key: oldest.value }, 'Control entry dropped')
    }
    this.#start()
  }

  /** Resolves when everything was appended, or appends have ended. */
  async flush(): Promise<void> {
    while (this.#running !== undefined) await this.#running
  }

  #start(): void {
    this.#running ??= this.#run().finally(() => (this.#running = undefined))
  }

  /** Never rejects. */
  async #run(): Promise<void> {
    // The entries of one turn share an append.
    await Promise.resolve()
    while (!this.#signal.aborted && this.#added.length + this.#kept.size > 0) await this.#appendSome()
    for (const { reject } of this.#added.splice(0)) reject(this.#signal.reason)
  }

  async #appendSome(): Promise<void> {
    const added = this.#added.splice(0, batchSize)
    const kept = [...this.#kept].slice(0, batchSize - added.length)
    for (const [key] of kept) this.#kept.delete(key)
    const writes = [...added.map(({ write }) => write), ...kept.map(([key, value]) => ({ key, value }))]
    try {
      await this.#log.append(writes)
      for (const { resolve } of added) resolve()
      this.#backoffMs = firstBackoffMs
    } catch (error) {
      for (const { reject } of added) reject(error)
      this.#keepAgain(kept)
      await this.#backOff(error)
    }
  }

  /** Puts entries back before the others, unless they have newer values. */
  #keepAgain(failed: readonly (readonly [string, unknown])[]): void {
    const newer = [...this.#kept]
    this.#kept.clear()
    for (const [key, value] of failed) this.#kept.set(key, value)
    for (const [key, value] of newer) {
      this.#kept.delete(key)
      this.#kept.set(key, value)
    }
  }

  async #backOff(error: unknown): Promise<void> {
    const ms = this.#backoffMs
    this.#backoffMs = Math.min(longestBackoffMs, ms * 2)
    this.#runtime.logger.debug({ error: describeThrown(error), retryMs: ms }, 'Control entries not appended, retrying')
    try {
      await this.#runtime.timers.sleep(ms, this.#signal)
    } catch {
      // The signal ends the loop.
    }
  }
}
