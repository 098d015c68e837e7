/**
 * A process of the simulated world: its timers, what arrives at it, and an end that nobody inside notices.
 *
 * Everything a process does begins with a timer that fires or an answer that arrives. So both go through one gate. While
 * it is closed nothing gets through until it opens again, which is SIGSTOP; once it is shut for good the process is
 * killed, and the promises it waits for never settle.
 */

import { type Runtime } from '@waybill/core'
import { sleepWith } from '@waybill/core/internal'

type Gate = 'OPEN' | 'FROZEN' | 'DEAD'

/** One process. */
export class ProcessGate {
  readonly name: string
  readonly runtime: Runtime
  readonly #base: Runtime
  #gate: Gate = 'OPEN'
  #held: (() => void)[] = []

  constructor(name: string, base: Runtime) {
    this.name = name
    this.#base = base
    const schedule = (ms: number, run: () => void): Disposable => this.#schedule(ms, run)
    this.runtime = { ...base, timers: { schedule, sleep: (ms, signal) => sleepWith(schedule, ms, signal) } }
  }

  get isAlive(): boolean {
    return this.#gate !== 'DEAD'
  }

  get isFrozen(): boolean {
    return this.#gate === 'FROZEN'
  }

  /** Nothing runs in it until `thaw`. What is sent to it waits, as in the buffers of its sockets. */
  freeze(): void {
    if (this.#gate === 'OPEN') this.#gate = 'FROZEN'
  }

  thaw(): void {
    if (this.#gate !== 'FROZEN') return
    this.#gate = 'OPEN'
    // All of it is due at once, in an order that the seed decides.
    for (const run of this.#held.splice(0)) this.#base.timers.schedule(0, () => this.#pass(run))
  }

  /** Nothing runs in it any more. */
  kill(): void {
    this.#gate = 'DEAD'
    this.#held = []
  }

  /** Settles as the work does, when the process gets to it. */
  receive<T>(work: Promise<T>, seen?: (value: T) => void, failed?: (error: Error) => void): Promise<T> {
    return new Promise((resolve, reject) => {
      work.then(
        (value) =>
          this.#pass(() => {
            seen?.(value)
            resolve(value)
          }),
        (error: Error) =>
          this.#pass(() => {
            failed?.(error)
            reject(error)
          }),
      )
    })
  }

  #pass(run: () => void): void {
    if (this.#gate === 'OPEN') run()
    else if (this.#gate === 'FROZEN') this.#held.push(run)
  }

  #schedule(ms: number, run: () => void): Disposable {
    let isOver = false
    const timer = this.#base.timers.schedule(ms, () =>
      this.#pass(() => {
        if (!isOver) run()
      }),
    )
    return {
      [Symbol.dispose]: () => {
        isOver = true
        timer[Symbol.dispose]()
      },
    }
  }
}
