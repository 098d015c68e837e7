/**
 * A binding in the registry: what it was told, what pauses it, and its run while it runs. Each start makes a run of its
 * own, so nothing of one outlives its stop. Commands come one at a time: whoever calls sees to that.
 */

import { ArgumentError, type Runtime, StateError, StopDeadlineError } from '@waybill/core'
import { type CircuitState, engineChannel } from '@waybill/core/internal'
import type { ContainerStatus } from '../api/binding-view.ts'
import { InvalidContainerStateError } from '../api/connector-errors.ts'
import type { BindingCommand, ContainerState } from '../api/container-state.ts'
import { defaultCluster } from '../api/define-binding.ts'
import type { PauseReason } from '../api/pause-reason.ts'
import { BindingNotResumedError } from '../api/position-errors.ts'
import type { ResolvedBinding } from '../binding/resolved-binding.ts'
import { type Commanded, checkCommand, stateOf } from '../binding/state-machine.ts'
import { partsOf } from '../options/binding-options.ts'
import type { BindingRun } from './binding-run.ts'
import { type Registered, registryKey } from './registry.ts'
import { logSlowStart, waitForGroups } from './start-wait.ts'

/** How long a stop may take, and whether a static member gives its place up. */
export interface BindingStop {
  readonly deadlineMs: number
  readonly leave?: boolean
}

const stateChanged = engineChannel('container:state-changed')

/** See the file's comment. */
export class RegisteredBinding implements Registered {
  readonly resolved: ResolvedBinding
  readonly #createRun: (of: RegisteredBinding) => BindingRun
  readonly #runtime: Runtime
  readonly #pausedBy = new Set<PauseReason>()
  #parts: readonly ResolvedBinding[]
  #commanded: Commanded = 'CREATED'
  /** The last one: its handlers can outlive its stop. */
  #run: BindingRun | undefined
  #isOpen = false
  #starting: AbortController | undefined
  #startingSince: number | undefined
  #startParts = 0

  constructor(resolved: ResolvedBinding, createRun: (of: RegisteredBinding) => BindingRun, runtime: Runtime) {
    this.resolved = resolved
    this.#parts = partsOf(resolved)
    this.#createRun = createRun
    this.#runtime = runtime
  }

  get name(): string {
    return this.resolved.name
  }

  get cluster(): string {
    return this.resolved.cluster
  }

  get topics(): readonly string[] {
    return this.#parts.map(({ topic }) => topic)
  }

  /** One binding for each topic it reads: where it selects them by an expression, those that were found. */
  get parts(): readonly ResolvedBinding[] {
    return this.#parts
  }

  /** That of a topic. @throws ArgumentError when it reads no such one, or several and none was said */
  partOf(topic?: string): ResolvedBinding {
    const [part, other] = topic === undefined ? this.#parts : this.#parts.filter((one) => one.topic === topic)
    if (part !== undefined && other === undefined) return part
    const known = this.topics.join(', ') || 'none yet'
    throw new ArgumentError(
      topic === undefined
        ? `Binding '${this.label}' does not read one topic; say which is meant: ${known}.`
        : `Binding '${this.label}' does not read ${topic}; it reads: ${known}.`,
    )
  }

  /** Takes topics that were found: they are its own from now on. Two looks may find the same ones. */
  found(parts: readonly ResolvedBinding[]): void {
    const known = new Set(this.topics)
    this.#parts = [...this.#parts, ...parts.filter(({ topic }) => !known.has(topic))]
  }

  /** Topics that are not there any more. */
  forget(topics: readonly string[]): void {
    this.#parts = this.#parts.filter(({ topic }) => !topics.includes(topic))
  }

  /** What operators call it: with its cluster where that is not the default one. */
  get label(): string {
    return this.cluster === defaultCluster ? this.name : registryKey(this)
  }

  get commanded(): Commanded {
    return this.#commanded
  }

  get state(): ContainerState {
    return stateOf(this.#commanded, this.#pausedBy)
  }

  /** What pauses the binding as a whole. */
  get pausedBy(): ReadonlySet<PauseReason> {
    return this.#pausedBy
  }

  get breaker(): CircuitState {
    return this.#isOpen ? (this.#run?.breaker.state ?? 'CLOSED') : 'CLOSED'
  }

  /** From the beginning of a start to the end of its stop. */
  get isOpen(): boolean {
    return this.#isOpen
  }

  /** Since when its start is under way, on the monotonic clock; undefined while none is. */
  get startingSince(): number | undefined {
    return this.#startingSince
  }

  /**
   * Does a part of its start: what has to be there first is one too. Parts lie within each other, or beside those of somebody
   * else's start; the start is over with the last of them, or once the binding runs.
   */
  async duringStart<T>(part: () => Promise<T>): Promise<T> {
    this.#startingSince ??= this.#runtime.clock.monotonic()
    this.#startParts += 1
    try {
      return await part()
    } finally {
      this.#startParts -= 1
      if (this.#startParts === 0) this.#startingSince = undefined
    }
  }

  /** Empty while nothing runs. */
  containers(): readonly ContainerStatus[] {
    return this.#isOpen ? (this.#run?.status() ?? []) : []
  }

  /** Names what still runs of the last run: nothing, or handlers that ignore their signal. */
  unfinished(): readonly string[] {
    const running = this.#run?.running ?? 0
    return running === 0 ? [] : [`${running} handler${running === 1 ? '' : 's'} of binding ${this.name}`]
  }

  /** @throws InvalidContainerStateError */
  check(command: BindingCommand): void {
    const exhausted: readonly PauseReason[] = command === 'resume' && this.#hasExhausted() ? ['EXHAUSTED'] : []
    checkCommand(command, this.name, this.#commanded, new Set([...this.#pausedBy, ...exhausted]))
  }

  /** Whether the state allows a command. */
  allows(command: BindingCommand): boolean {
    try {
      this.check(command)
      return true
    } catch (error) {
      if (error instanceof InvalidContainerStateError) return false
      throw error
    }
  }

  /** A start that fails, or that the signal ends, leaves everything as it was. `heldBy` holds before the first fetch. */
  async start(signal: AbortSignal, heldBy: readonly PauseReason[] = []): Promise<void> {
    this.check('start')
    try {
      await this.#begin(signal, heldBy)
    } catch (error) {
      this.#change(() => this.#pausedBy.clear())
      throw error
    }
  }

  /**
   * Does something while no member of this process is in the binding's groups, and goes on paused: also with members that
   * keep their places when they stop. What does not run is left as it is.
   *
   * @throws StopDeadlineError when handlers go on behind the deadline; then nothing was done.
   */
  async whileAway<T>(options: BindingStop, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    if (!this.#isOpen) return work()
    // What only its breaker pauses would otherwise go on by itself: the next run has a new one, which is closed.
    this.hold('OPERATOR')
    await this.#run?.stop({ ...options, leave: true })
    this.#isOpen = false
    this.release('BREAKER')
    const unfinished = this.unfinished()
    const [result] = await Promise.allSettled([
      unfinished.length > 0
        ? Promise.reject(new StopDeadlineError(`binding ${this.label}`, unfinished))
        : (async () => work())(),
    ])
    await this.#comeBack(signal, result.status === 'rejected' ? result.reason : undefined)
    if (result.status === 'rejected') throw result.reason
    return result.value
  }

  /** Ends a start that is under way: it would otherwise hold up a destroy for as long as its cluster is away. */
  cancelStart(): void {
    this.#starting?.abort(new StateError(`Binding ${this.name} was destroyed while it was starting.`))
  }

  async stop(options: BindingStop): Promise<void> {
    this.check('stop')
    await this.#end(options, 'STOPPED')
  }

  async destroy(options: BindingStop): Promise<void> {
    this.check('destroy')
    await this.#end({ ...options, leave: true }, 'DESTROYED')
  }

  /** Stops it if it runs. */
  async close(options: BindingStop): Promise<void> {
    if (this.#isOpen) await this.#end(options, 'STOPPED')
  }

  pause(): void {
    this.check('pause')
    this.hold('OPERATOR')
  }

  /** Takes the operator's pause away, and tries again what waits for an operator. An open breaker still pauses. */
  resume(): void {
    this.check('resume')
    this.release('OPERATOR')
    this.release('EXHAUSTED')
  }

  /** Pauses all containers for a reason; they keep their places in their groups (S0-072, S0-120, S0-153). */
  hold(reason: PauseReason): void {
    this.#change(() => this.#pausedBy.add(reason))
    if (this.#isOpen) this.#run?.pause(reason)
  }

  /** Ends one reason. What other reasons pause stays paused. */
  release(reason: PauseReason): void {
    this.#change(() => this.#pausedBy.delete(reason))
    if (this.#isOpen) this.#run?.resume(reason)
  }

  async #begin(signal: AbortSignal, heldBy: readonly PauseReason[]): Promise<void> {
    this.#starting = new AbortController()
    const run = this.#createRun(this)
    this.#run = run
    this.#isOpen = true
    for (const reason of heldBy) this.hold(reason)
    try {
      const either = AbortSignal.any([signal, this.#starting.signal])
      const wait = waitForGroups(this.label, this.cluster, this.resolved.groupId)
      await this.duringStart(() => logSlowStart(wait, this.#runtime, () => run.start(either)))
    } catch (error) {
      this.#isOpen = false
      throw error
    }
    this.#startingSince = undefined
    this.#change(() => {
      this.#commanded = 'RUNNING'
    })
  }

  async #comeBack(signal: AbortSignal, earlier: unknown): Promise<void> {
    const { label: binding } = this
    try {
      await this.#begin(signal, [...this.#pausedBy])
    } catch (error) {
      this.#change(() => {
        this.#commanded = 'STOPPED'
        this.#pausedBy.clear()
      })
      if (earlier !== undefined) this.#runtime.logger.error({ err: earlier, binding }, 'The operation failed before')
      throw new BindingNotResumedError(binding, error)
    }
  }

  async #end(options: BindingStop, to: 'STOPPED' | 'DESTROYED'): Promise<void> {
    if (this.#isOpen) await this.#run?.stop(options)
    this.#isOpen = false
    this.#change(() => {
      this.#commanded = to
      this.#pausedBy.clear()
    })
  }

  #hasExhausted(): boolean {
    return this.containers().some(({ members }) =>
      members.some(({ partitions }) => partitions.some(({ pausedBy }) => pausedBy.includes('EXHAUSTED'))),
    )
  }

  #change(apply: () => void): void {
    const from = this.state
    apply()
    const to = this.state
    if (from === to) return
    const { name: binding, cluster } = this
    const pausedBy = [...this.#pausedBy]
    this.#runtime.logger.info({ binding, cluster, from, to, pausedBy }, 'Binding changed its state')
    if (stateChanged.hasSubscribers) stateChanged.publish({ binding, cluster, from, to, pausedBy })
  }
}
