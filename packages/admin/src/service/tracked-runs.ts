import type { Runtime } from '@waybill/core'
import { createUlidGenerator } from '@waybill/core'

/** A change that may take longer than a request. Its result is kept for a day, in this process. */
export interface TrackedRun {
  readonly id: string
  readonly type: 'REPLAY' | 'REPLAY_TO_TIER' | 'RELEASE' | 'PURGE'
  readonly binding: string
  readonly by: string
  readonly reason: string | undefined
  readonly request: unknown
  readonly createdAtMs: number
  endedAtMs: number | undefined
  state: 'RUNNING' | 'DONE' | 'FAILED'
  progress: unknown
  result: unknown
  error: unknown
}

const maxRuns = 1_000

/** Runs changes to their end, also if the client that asked for one leaves. */
export class TrackedRuns {
  readonly #runtime: Runtime
  readonly #nextId: () => string
  readonly #runs = new Map<string, TrackedRun>()

  constructor(runtime: Runtime) {
    this.#runtime = runtime
    this.#nextId = createUlidGenerator(runtime)
  }

  /** Starts a change. `done` resolves when it ended, whatever its result. */
  start(
    about: Pick<TrackedRun, 'type' | 'binding' | 'by' | 'reason' | 'request'>,
    work: (onProgress: (progress: unknown) => void) => Promise<unknown>,
  ): { readonly run: TrackedRun; readonly done: Promise<void> } {
    const run: TrackedRun = {
      ...about,
      id: `op_${this.#nextId()}`,
      createdAtMs: this.#runtime.clock.now(),
      endedAtMs: undefined,
      state: 'RUNNING',
      progress: undefined,
      result: undefined,
      error: undefined,
    }
    this.#runs.set(run.id, run)
    this.#makeRoom()
    const done = this.#follow(
      run,
      work((progress) => {
        run.progress = progress
      }),
    )
    return { run, done }
  }

  async #follow(run: TrackedRun, work: Promise<unknown>): Promise<void> {
    try {
      run.result = await work
      run.state = 'DONE'
    } catch (error) {
      run.error = error
      run.state = 'FAILED'
    }
    run.endedAtMs = this.#runtime.clock.now()
  }

  get(id: string): TrackedRun | undefined {
    return this.#runs.get(id)
  }

  /** Returns all runs, newest first. */
  list(): readonly TrackedRun[] {
    return [...this.#runs.values()].toReversed()
  }

  #makeRoom(): void {
    for (const [id, { state }] of this.#runs) {
      if (this.#runs.size <= maxRuns) return
      if (state !== 'RUNNING') this.#runs.delete(id)
    }
  }
}
