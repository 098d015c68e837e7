/**
 * Sends wake-up signals between nodes, rate-limited and never inside a transaction: a NOTIFY in each business
 * transaction would serialize their commits.
 *
 *   quiet ──a commit others have to deliver──▶ announced ──more within the pause──▶ announced once more at its end
 *   listening ──connection lost──▶ waiting, with backoff ──▶ listening
 */

import { type Runtime } from '@waybill/core'
import { type BackoffPolicy, backoffMs } from '@waybill/core/internal'
import type { WakeUp } from '../api/wake-up.ts'
import type { OutboxPart } from '../loops/outbox-part.ts'

export interface WakeUpPartDeps {
  readonly wakeUp: WakeUp
  readonly runtime: Pick<Runtime, 'timers' | 'random' | 'logger'>
  /** Called when another node committed rows. */
  wake(): void
}

/**
 * The minimum interval of signals: twenty nodes at full load cost a thousand small statements a second, not 100,000.
 */
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

  /**
   * Starts listening without waiting for a connection; without one, polling finds the rows.
   *
   * @throws the wake-up's error if its pool is too small
   */
  start(): void {
    this.#deps.wakeUp.requireConnection?.()
    this.#listening = this.#listen()
  }

  async stop(): Promise<void> {
    this.#ending.abort()
    await Promise.all([this.#listening, this.#announcing])
  }

  /** Announces rows committed here that other nodes have to deliver. */
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
      .catch((err: unknown) => runtime.logger.warn({ err }, 'Wake-up signal failed; rows left to polling'))
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
      await runtime.timers.sleep(ms, signal).catch(() => {}) // Only stop() ends it early, and the loop checks.
    }
  }

  /** Listens until the connection is lost or the part stops. @returns whether listening began */
  async #listenOnce(signal: AbortSignal): Promise<boolean> {
    const { wakeUp, runtime } = this.#deps
    const wake = (): void => this.#deps.wake()
    const ended = Promise.withResolvers<void>()
    const onAbort = (): void => ended.resolve()
    signal.addEventListener('abort', onAbort, { once: true })
    try {
      const listener = await wakeUp.listen(wake, (err) => {
        runtime.logger.warn({ err }, 'Wake-up connection lost; rows left to polling')
        ended.resolve()
      })
      wake() // Signals sent before listening began.
      await ended.promise
      await listener[Symbol.asyncDispose]()
      return true
    } catch (err) {
      runtime.logger.warn({ err }, 'Wake-up listen failed; rows left to polling')
      return false
    } finally {
      signal.removeEventListener('abort', onAbort)
    }
  }
}
