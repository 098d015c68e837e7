import type { Runtime } from '@waybill/core'

/** Runs a task repeatedly with a pause in between, never two runs at a time. The task must not reject. */
export class RepeatedTask {
  readonly #timers: Runtime['timers']
  readonly #pauseMs: number
  readonly #task: () => Promise<void>
  #timer: Disposable | undefined
  #current: Promise<void> = Promise.resolve()
  #isStopped = true
  #isRunning = false
  #isDueNow = false

  constructor({ timers }: Pick<Runtime, 'timers'>, pauseMs: number, task: () => Promise<void>) {
    this.#timers = timers
    this.#pauseMs = pauseMs
    this.#task = task
  }

  /** Schedules the first run after one pause. */
  start(): void {
    this.#isStopped = false
    this.#arm()
  }

  /** Starts the next run at once, or right after the current one. */
  runSoon(): void {
    this.#isDueNow = true
    if (this.#isStopped || this.#isRunning) return
    this.#timer?.[Symbol.dispose]()
    this.#arm()
  }

  /** Resolves when the current run has ended. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#timer?.[Symbol.dispose]()
    await this.#current
  }

  #arm(): void {
    this.#timer = this.#timers.schedule(this.#isDueNow ? 0 : this.#pauseMs, () => {
      this.#current = this.#run()
    })
    this.#isDueNow = false
  }

  async #run(): Promise<void> {
    this.#isRunning = true
    await this.#task()
    this.#isRunning = false
    if (!this.#isStopped) this.#arm()
  }
}
