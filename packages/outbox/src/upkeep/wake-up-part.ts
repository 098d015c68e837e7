/**
 * Passes words between nodes, never more than one in a while and never inside a transaction: a NOTIFY of each business
 * transaction would make them commit one after the other.
 *
 *   quiet ──a commit others have to deliver──▶ announced ──more within the pause──▶ announced once more at its end
 *   listening ──connection lost──▶ waiting, a little longer each time ──▶ listening
 */

import { type Runtime } from '@waybill/core'
import { type BackoffPolicy, backoffMs } from '@waybill/core/internal'
import type { WakeUp } from '../api/wake-up.ts'
import type { OutboxPart } from '../loops/outbox-part.ts'

export interface WakeUpPartDeps {
  readonly wakeUp: WakeUp
  readonly runtime: Pick<Runtime, 'timers' | 'random' | 'logger'>
  /** Another node committed something. */
  wake(): void
}

/** One word in this time: twenty nodes at full load cost a thousand small statements a second, not a hundred thousand. */
const pauseMs = 20
const relistening: BackoffPolicy = { initialMs: 500, multiplier: 2, maxMs: 30_000, jitterExceedsMax: false }

export class WakeUpPart implements OutboxPart {
  readonly name = 'wake-up'
  readonly #deps: WakeUpPartDeps
  readonly #ending = new AbortController()
  #listening: Promise<void> = Promise.resolve()
  #announcing: Promise<void> = Promise.resolve()
  #isPausing = false
  #isWanted = false

  constructor(deps: WakeUpPartDeps) {
    this.#deps = deps
  }

  /** Does not wait for a connection: without one rows are found by polling. */
  start(): void {
    this.#listening = this.#listen()
  }

  async stop(): Promise<void> {
    this.#ending.abort()
    await Promise.all([this.#listening, this.#announcing])
  }

  /** Rows were committed here that other nodes have to deliver. */
  announce(): void {
    this.#isWanted = true
    if (!this.#isPausing) this.#say()
  }

  #say(): void {
    const { wakeUp, runtime } = this.#deps
    if (!this.#isWanted || this.#ending.signal.aborted) return
    this.#isWanted = false
    this.#isPausing = true
    this.#announcing = wakeUp
      .announce()
      .catch((err: unknown) => runtime.logger.warn({ err }, 'Waking other nodes failed; they find the rows by polling'))
    runtime.timers.schedule(pauseMs, () => {
      this.#isPausing = false
      this.#say()
    })
  }

  async #listen(): Promise<void> {
    const { runtime } = this.#deps
    const { signal } = this.#ending
    for (let failures = 0; !signal.aborted; failures++) {
      const listenedWell = await this.#listenOnce(signal)
      if (listenedWell) failures = 0
      const ms = backoffMs(relistening, failures + 1, runtime.random)
      await runtime.timers.sleep(ms, signal).catch(() => {}) // Only the stop ends it early, and the loop looks.
    }
  }

  /** Listens until the connection is lost or the part stops. @returns whether it came to listen at all */
  async #listenOnce(signal: AbortSignal): Promise<boolean> {
    const { wakeUp, runtime } = this.#deps
    const wake = (): void => this.#deps.wake()
    const ended = Promise.withResolvers<void>()
    const onAbort = (): void => ended.resolve()
    signal.addEventListener('abort', onAbort, { once: true })
    try {
      const listener = await wakeUp.listen(wake, (err) => {
        runtime.logger.warn({ err }, 'The connection that hears of other nodes is lost; rows are found by polling')
        ended.resolve()
      })
      wake() // What was said while nobody listened.
      await ended.promise
      await listener[Symbol.asyncDispose]()
      return true
    } catch (err) {
      runtime.logger.warn({ err }, 'Listening for other nodes failed; rows are found by polling')
      return false
    } finally {
      signal.removeEventListener('abort', onAbort)
    }
  }
}
