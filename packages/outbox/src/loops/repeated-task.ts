import type { Runtime } from '@waybill/core'

/** Runs a task again and again with a pause in between, never two at a time. The task does not reject. */
export class RepeatedTask {
  readonly #timers: Runtime['timers']
  readonly #pauseMs: number
  readonly #task: () => Promise<void>
  #timer: Disposable | undefined
  #current: Promise<void> = Promise.resolve()
  #isStopped = true
  #isRunning = false
  #isHurried = false

  constructor({ timers }: Pick<Runtime, 'timers'>, pauseMs: number, task: () => Promise<void>) {
    this.#timers = timers
    this.#pauseMs = pauseMs
    this.#task = task
  }

  /** The first run comes after a pause. */
  start(): void {
    this.#isStopped = false
    this.#arm()
  }

  /** The next run comes at once, or right after the present one. */
  hurry(): void {
    this.#isHurried = true
    if (this.#isStopped || this.#isRunning) return
    this.#timer?.[Symbol.dispose]()
    this.#arm()
  }

  /** Resolves when a run that was under way has ended. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#timer?.[Symbol.dispose]()
    await this.#current
  }

  #arm(): void {
    this.#timer = this.#timers.schedule(this.#isHurried ? 0 : this.#pauseMs, () => {
      this.#current = this.#run()
    })
    this.#isHurried = false
  }

  async #run(): Promise<void> {
    this.#isRunning = true
    await this.#task()
    this.#isRunning = false
    if (!this.#isStopped) this.#arm()
  }
}
