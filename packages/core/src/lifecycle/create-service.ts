import { ArgumentError, StateError, WaybillError } from '../errors.ts'
import { hasMethods } from '../option/has-methods.ts'
import { resolveOptions } from '../option/resolve-options.ts'
import { durationMs } from '../option/rule.ts'
import { showValue } from '../option/show-value.ts'
import { type Runtime, systemRuntime } from '../runtime/runtime.ts'
import { engineChannel } from '../telemetry/channel.ts'
import type { ServiceState } from '../telemetry/events.ts'
import { type Deadline, MovableDeadline } from './deadline.ts'
import { LifecycleError } from './lifecycle-error.ts'
import type { Service, StopOptions } from './service.ts'

/** The work of a service at start and stop. Each hook is called at most once, and never two at a time. */
export interface ServiceHooks {
  /**
   * Opens what the service needs; resolves when it works. The signal aborts when stop() is called meanwhile: then end
   * soon, either way.
   */
  start(signal: AbortSignal): Promise<void> | void
  /**
   * Ends the work and releases whatever start has opened: all of it, or the part it reached before it failed or was
   * cancelled. Resolves when nothing runs any more. Whatever still runs when the deadline's signal aborts is to be cut
   * off, not waited for.
   */
  stop(deadline: Deadline): Promise<void> | void
  /** Names what has not ended, for the error at the deadline. @defaultValue the service itself */
  running?(): readonly string[]
  /**
   * The service was handed something open, so `stop` has to run even if `start` never did.
   *
   * @defaultValue false
   */
  readonly holdsFromCreation?: boolean
}

/** stop() reached its deadline before everything had ended. */
export class StopDeadlineError extends WaybillError {
  static override readonly code = 'WAYBILL_STOP_DEADLINE_EXCEEDED'
  /** The work that was still running, by name. */
  readonly stillRunning: readonly string[]

  constructor(service: string, stillRunning: readonly string[]) {
    super(`${service} did not stop before its deadline. Still running: ${stillRunning.join(', ')}.`, {
      impact: 'Unfinished work was not acknowledged: it is delivered again.',
      hint: 'End the process, then find out why this ignores its AbortSignal, or give stop() a longer deadlineMs.',
    })
    this.stillRunning = Object.freeze([...stillRunning])
  }
}

const defaultDeadlineMs = 30_000

const stopRules = {
  deadlineMs: durationMs({
    default: defaultDeadlineMs,
    because: 'most handlers end well within it; let the orchestrator wait a little longer before it kills',
  }),
}

const stateChanged = engineChannel('service:state-changed')

/** Options of {@link createService}. */
export interface ServiceOptions extends ServiceHooks {
  /** The name in errors, logs and engine events. */
  readonly name: string
  /** @defaultValue the system's */
  readonly runtime?: Runtime | undefined
}

/**
 * Creates a {@link Service} from its hooks. It keeps the contract of start and stop, so that no service has to.
 *
 * @throws {@link ArgumentError} without a name, start or stop.
 */
export function createService(options: ServiceOptions): Service {
  const { name, runtime = systemRuntime } = requireServiceOptions(options)
  return new HookedService(name, options, runtime)
}

function requireServiceOptions(given: ServiceOptions): ServiceOptions {
  const isComplete = typeof given?.name === 'string' && hasMethods(given, 'start', 'stop')
  if (isComplete) return given
  throw new ArgumentError(`createService takes { name, start, stop }, got ${showValue(given)}.`, {
    hint: "Write createService({ name: 'http', start: async () => { … }, stop: async () => { … } }).",
  })
}

class HookedService implements Service {
  readonly #name: string
  readonly #hooks: ServiceHooks
  readonly #runtime: Runtime
  readonly #startCancelled = new AbortController()
  readonly #startAbandoned = Promise.withResolvers<never>()
  #state: ServiceState = 'CREATED'
  #failure: unknown
  /** The start hook itself: it can outlive what start() answers. */
  #startHook: Promise<void> | undefined
  #isStartHookRunning = false
  #started: Promise<void> | undefined
  #stopped: Promise<void> | undefined
  #deadline: MovableDeadline | undefined

  constructor(name: string, hooks: ServiceHooks, runtime: Runtime) {
    this.#name = name
    this.#hooks = hooks
    this.#runtime = runtime
  }

  get state(): ServiceState {
    return this.#state
  }

  start(): Promise<void> {
    if (this.#state === 'CREATED') {
      // Stored before subscribers are notified: one of them may call start() or stop() in the same turn.
      const started = Promise.withResolvers<void>()
      this.#started = started.promise
      started.resolve(this.#runStart())
      return started.promise
    }
    if (this.#started !== undefined && (this.#state === 'STARTING' || this.#state === 'RUNNING')) return this.#started
    return Promise.reject(this.#refusal())
  }

  async stop(options?: StopOptions): Promise<void> {
    const { deadlineMs } = resolveOptions(`stop() of ${this.#name}`, stopRules, options)
    if (this.#stopped !== undefined && options?.deadlineMs !== undefined) this.#deadline?.bringForward(deadlineMs)
    await this.#stopOnce(deadlineMs, 'STOPPED')
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }

  async #runStart(): Promise<void> {
    const { signal } = this.#startCancelled
    this.#moveTo('STARTING')
    try {
      signal.throwIfAborted()
      this.#startHook = this.#callStartHook(signal)
      await Promise.race([this.#startHook, this.#startAbandoned.promise])
      signal.throwIfAborted()
    } catch (error) {
      // Otherwise stop() has cancelled the start, and sees to the release.
      if (this.#stopped === undefined) await this.#releaseFailedStart(error)
      throw error
    }
    this.#moveTo('RUNNING')
  }

  async #callStartHook(signal: AbortSignal): Promise<void> {
    this.#isStartHookRunning = true
    try {
      await this.#hooks.start(signal)
    } finally {
      this.#isStartHookRunning = false
    }
  }

  async #releaseFailedStart(error: unknown): Promise<void> {
    this.#failure = error
    try {
      await this.#stopOnce(defaultDeadlineMs, 'FAILED')
    } catch (stopError) {
      throw new LifecycleError(this.#name, [
        { during: `start of ${this.#name}`, error },
        { during: `stop of ${this.#name}`, error: stopError },
      ])
    }
  }

  #stopOnce(deadlineMs: number, endState: 'STOPPED' | 'FAILED'): Promise<void> {
    if (this.#stopped !== undefined) return this.#stopped
    const stopped = Promise.withResolvers<void>()
    this.#stopped = stopped.promise
    if (this.#state === 'CREATED' && this.#hooks.holdsFromCreation !== true) {
      this.#moveTo(endState)
      stopped.resolve()
    } else {
      this.#deadline = new MovableDeadline(deadlineMs, this.#runtime)
      stopped.resolve(this.#runStop(this.#deadline, endState))
    }
    return this.#stopped
  }

  async #runStop(deadline: MovableDeadline, endState: 'STOPPED' | 'FAILED'): Promise<void> {
    this.#moveTo('STOPPING')
    this.#startCancelled.abort(new StateError(`${this.#name} was stopped while it was starting.`))
    const released = this.#release(deadline)
    try {
      const isReleased = await Promise.race([released.then(() => true), passed(deadline)])
      if (!isReleased) throw this.#giveUpOn(released)
    } catch (error) {
      this.#failure ??= error
      this.#moveTo('FAILED')
      throw error
    } finally {
      deadline[Symbol.dispose]()
    }
    this.#moveTo(endState)
  }

  async #release(deadline: Deadline): Promise<void> {
    await Promise.resolve() // A stop called from within the start hook comes before the hook has given its promise.
    await Promise.allSettled([this.#startHook]) // Its failure is start()'s to report.
    await this.#hooks.stop(deadline)
  }

  #giveUpOn(released: Promise<void>): StopDeadlineError {
    const isStarting = this.#isStartHookRunning
    const named = isStarting ? [`start of ${this.#name}`] : (this.#hooks.running?.() ?? [])
    const error = new StopDeadlineError(this.#name, named.length === 0 ? [this.#name] : named)
    if (isStarting) this.#startAbandoned.reject(error)
    void this.#reportLate(isStarting ? [this.#startHook as Promise<void>, released] : [released])
    return error
  }

  /** Logs the failures of hooks that are no longer awaited. */
  async #reportLate(abandoned: readonly Promise<void>[]): Promise<void> {
    const { logger } = this.#runtime
    const failed = (await Promise.allSettled(abandoned)).filter(({ status }) => status === 'rejected')
    for (const { reason: err } of failed as PromiseRejectedResult[])
      logger.error({ service: this.#name, err }, 'Failed after the deadline of its stop')
    if (failed.length === 0) logger.warn({ service: this.#name }, 'Ended after the deadline of its stop')
  }

  #moveTo(to: ServiceState): void {
    const from = this.#state
    this.#state = to
    if (!stateChanged.hasSubscribers) return
    stateChanged.publish({ service: this.#name, from, to, ...(to === 'FAILED' ? { error: this.#failure } : {}) })
  }

  #refusal(): StateError {
    return new StateError(`Cannot start ${this.#name}: it is ${this.#state}, and a service runs only once.`, {
      hint: 'Create a new one and start that.',
      ...(this.#state === 'FAILED' ? { cause: this.#failure } : {}),
    })
  }
}

function passed(deadline: Deadline): Promise<false> {
  return new Promise((resolve) => deadline.signal.addEventListener('abort', () => resolve(false), { once: true }))
}
