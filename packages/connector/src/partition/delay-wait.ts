import type { WorkerDeps } from './partition-worker.ts'
import type { PauseSet } from './pause-set.ts'

/** A partition whose next record waits for nothing but time: one timer, and no fetching where all behind it wait too. */
export class DelayWait {
  readonly #runtime: WorkerDeps['runtime']
  readonly #pauses: PauseSet
  /** Of a tier all later records are due later (S0-115); else others of the partition may go on meanwhile. */
  readonly #isForAll: boolean
  readonly #over: () => void
  #timer: Disposable | undefined

  /** @param over - something is due */
  constructor({ place, binding, runtime }: WorkerDeps, pauses: PauseSet, over: () => void) {
    this.#runtime = runtime
    this.#pauses = pauses
    this.#isForAll = place.kind === 'TIER' || binding.parallelism === 'PARTITION'
    this.#over = over
  }

  /** Waits until then, instead of what it waited for. Undefined: nothing waits for time alone. */
  until(dueAt: number | undefined): void {
    const now = this.#runtime.clock.monotonic()
    this.#stopTimer()
    // What is due runs, or it waits for a commit, which says when it is there.
    if (dueAt === undefined || dueAt <= now) {
      this.#pauses.remove('DELAY')
      return
    }
    if (this.#isForAll) this.#pauses.add('DELAY')
    this.#timer = this.#runtime.timers.schedule(dueAt - now, () => {
      this.end()
      this.#over()
    })
  }

  end(): void {
    this.#stopTimer()
    this.#pauses.remove('DELAY')
  }

  #stopTimer(): void {
    this.#timer?.[Symbol.dispose]()
    this.#timer = undefined
  }
}
