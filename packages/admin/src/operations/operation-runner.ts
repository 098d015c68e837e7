/** Takes operations without a runner, and runs several at a time. */

import type { Runtime } from '@waybill/core'
import type { OperationStore, OperationType } from '@waybill/core/internal'
import type { OperationKind } from './operation-kind.ts'
import type { OperationTelemetry } from './operation-telemetry.ts'
import { runOperation } from './run-operation.ts'

/** The collaborators of a runner. */
export interface OperationRunnerDeps {
  readonly store: OperationStore
  readonly kinds: ReadonlyMap<OperationType, OperationKind>
  readonly instance: string
  readonly runtime: Runtime
  readonly leaseMs: number
  readonly pollMs: number
  readonly telemetry: OperationTelemetry
}

/** Operations of one process at a time: others wait for another instance, or for one of these to end. */
const maxRunning = 4

/** See the file's comment. */
export class OperationRunner {
  readonly #deps: OperationRunnerDeps
  readonly #stopping = new AbortController()
  readonly #running = new Map<string, Promise<void>>()
  #wake: () => void = () => {}
  #loop: Promise<void> | undefined

  constructor(deps: OperationRunnerDeps) {
    this.#deps = deps
  }

  start(): void {
    this.#loop ??= this.#run()
  }

  /** Looks for an operation at once. */
  look(): void {
    this.#wake()
  }

  /** The ids of the operations that run here. */
  get running(): readonly string[] {
    return [...this.#running.keys()]
  }

  /** Ends each run after its batch, and releases its lease. Never rejects. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    this.#wake()
    await this.#loop
    await Promise.all(this.#running.values())
  }

  /** Never rejects. */
  async #run(): Promise<void> {
    const { runtime, pollMs } = this.#deps
    while (!this.#stopping.signal.aborted) {
      // Spread, so that instances do not ask at the same time.
      const woken = this.#sleep(pollMs * (0.5 + runtime.random()))
      if (!(await this.#takeOne())) await woken
      else this.#wake()
    }
  }

  /** Returns whether there may be more to take. */
  async #takeOne(): Promise<boolean> {
    const { store, kinds, instance, runtime, leaseMs, telemetry } = this.#deps
    if (this.#running.size >= maxRunning) return false
    try {
      const taken = await store.take(instance, [...kinds.keys()], leaseMs)
      const kind = taken === undefined ? undefined : kinds.get(taken.operation.type)
      if (taken === undefined || kind === undefined) return false
      const { id } = taken.operation
      const run = runOperation(taken, {
        store,
        kind,
        runtime,
        leaseMs,
        telemetry,
        stopping: this.#stopping.signal,
      })
      const ended = run.finally(() => {
        if (this.#running.get(id) === ended) this.#running.delete(id)
        this.#wake()
      })
      this.#running.set(id, ended)
      return true
    } catch (err) {
      runtime.logger.warn({ err }, 'Operations could not be taken, retrying')
      return false
    }
  }

  async #sleep(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#wake = resolve
    // Not `timers.sleep`: a runner without operations must not keep a process alive.
    using _ = this.#deps.runtime.timers.schedule(ms, resolve)
    if (this.#stopping.signal.aborted) resolve()
    await promise
  }
}
