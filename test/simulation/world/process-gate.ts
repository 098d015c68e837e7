/**
 * A process of the simulated world: its timers, its incoming messages, and a death that its code cannot observe.
 *
 * Everything a process does starts with a timer that fires or a response that arrives. So both go through one gate.
 * While it is closed nothing passes until it opens again, which is SIGSTOP; once it is shut permanently the process is
 * killed, and its pending promises never settle.
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

  /** Stops everything in it until `thaw`. Incoming messages wait, as in the buffers of its sockets. */
  freeze(): void {
    if (this.#gate === 'OPEN') this.#gate = 'FROZEN'
  }

  thaw(): void {
    if (this.#gate !== 'FROZEN') return
    this.#gate = 'OPEN'
    // All of them are due at once, in an order that the seed decides.
    for (const run of this.#held.splice(0)) this.#base.timers.schedule(0, () => this.#pass(run))
  }

  /** Stops everything in it permanently. */
  kill(): void {
    this.#gate = 'DEAD'
    this.#held = []
  }

  /** Settles as the work does, when the process runs. */
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
