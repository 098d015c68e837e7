import { StateError, type Timers } from '@waybill/core'
import { LogContextRunner } from '@waybill/core/internal'
import type { DeliveryScope } from '../delivery/delivery-scope.ts'

/**
 * The limits and cancellation signals of a worker's deliveries.
 *
 *     RUNNING ── beginDraining: no further attempt ──▶ DRAINING ── end, or the deadline: handlers are aborted ──▶ ENDED
 *        ▲└── pause: no further attempt until resume
 *        └┘
 */
export class WorkerScope implements DeliveryScope {
  readonly logContexts: LogContextRunner = new LogContextRunner()
  readonly #isHalted: () => boolean
  /** Replaced when an operator resumes. */
  #retrying = new AbortController()
  readonly #handling = new AbortController()
  #state: 'RUNNING' | 'DRAINING' | 'ENDED' = 'RUNNING'
  #look: (() => void) | undefined

  /** @param isHalted - returns true while a pause keeps handlers from starting */
  constructor(isHalted: () => boolean = () => false) {
    this.#isHalted = isHalted
  }

  mayStart(): boolean {
    return this.#state === 'RUNNING' && !this.#isHalted()
  }

  /** Aborts when no further attempt may be made; running attempts may complete. */
  get retrying(): AbortSignal {
    return this.#retrying.signal
  }

  /** Aborts when handlers have no more time. */
  get handling(): AbortSignal {
    return this.#handling.signal
  }

  get isRunning(): boolean {
    return this.#state === 'RUNNING'
  }

  get isEnded(): boolean {
    return this.#state === 'ENDED'
  }

  /** Ends waits between attempts: their records start anew after the next resume. */
  pause(): void {
    this.#retrying.abort(new StateError('An operator has paused the partition: no further attempt is made.'))
  }

  /** Without a pause before it, the signal stays: calls that hold it must see the next pause. */
  resume(): void {
    if (this.#state === 'RUNNING' && this.retrying.aborted) this.#retrying = new AbortController()
  }

  beginDraining(): void {
    if (this.#state === 'RUNNING') this.#state = 'DRAINING'
    this.#retrying.abort(new StateError('The partition is revoked: no further attempt is made here.'))
  }

  end(): void {
    this.#state = 'ENDED'
    this.#abort('The partition is lost: another member may handle this record too.')
  }

  /** Resolves when `isIdle` returns true, or after the deadline, which aborts the handlers. */
  async drained(timers: Timers, deadlineMs: number, isIdle: () => boolean): Promise<void> {
    if (isIdle()) return
    await new Promise<void>((resolve) => {
      const timer = timers.schedule(deadlineMs, () => {
        this.#look = undefined
        this.#abort('The partition is revoked and its deadline has passed.')
        resolve()
      })
      this.#look = () => {
        if (!isIdle() && this.#state !== 'ENDED') return
        this.#look = undefined
        timer[Symbol.dispose]()
        resolve()
      }
    })
  }

  /** Checks whether the worker is idle now. */
  look(): void {
    this.#look?.()
  }

  #abort(reason: string): void {
    const error = new StateError(reason)
    this.#retrying.abort(error)
    this.#handling.abort(error)
    this.#look?.()
  }
}
