import { DueTimer } from './due-timer.ts'
import type { WorkerDeps } from './partition-worker.ts'
import type { PauseSet } from './pause-set.ts'

/** Pauses a partition while its next record waits for nothing but time, if all records behind it wait too. */
export class DelayWait {
  readonly #clock: WorkerDeps['runtime']['clock']
  readonly #pauses: PauseSet
  /** In a tier all later records are due later; elsewhere other records of the partition may continue meanwhile. */
  readonly #isForAll: boolean
  readonly #timer: DueTimer

  /** @param over - called when a record is due */
  constructor({ place, binding, runtime }: WorkerDeps, pauses: PauseSet, over: () => void) {
    this.#clock = runtime.clock
    this.#pauses = pauses
    this.#isForAll = place.kind === 'TIER' || binding.parallelism === 'PARTITION'
    this.#timer = new DueTimer(runtime, () => {
      pauses.remove('DELAY')
      over()
    })
  }

  /** Waits until then, in place of an earlier wait. @param dueAt - undefined: nothing waits for time alone */
  until(dueAt: number | undefined): void {
    // A due record runs, or waits for a commit, whose acknowledgement starts it.
    if (dueAt === undefined || dueAt <= this.#clock.monotonic()) return this.end()
    if (this.#isForAll) this.#pauses.add('DELAY')
    this.#timer.set(dueAt)
  }

  end(): void {
    this.#timer.clear()
    this.#pauses.remove('DELAY')
  }
}
