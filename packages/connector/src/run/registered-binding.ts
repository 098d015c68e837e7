/**
 * A binding in the registry: its commanded state, its pause reasons, and its current run. Each start creates a new run,
 * so no state survives a stop. The caller runs one command at a time.
 */

import type { Buffer } from 'node:buffer'
import { ArgumentError, type Runtime, StateError, StopDeadlineError } from '@waybill/core'
import { type CircuitState, engineChannel } from '@waybill/core/internal'
import type { ContainerStatus, KeyState } from '../api/binding-view.ts'
import { InvalidContainerStateError } from '../api/connector-errors.ts'
import type { BindingCommand, ContainerState } from '../api/container-state.ts'
import type { CircuitFigures, PausedRecord } from '../api/control.ts'
import type { PauseReason } from '../api/pause-reason.ts'
import { BindingNotResumedError } from '../api/position-errors.ts'
import { bindingLabel } from '../binding/binding-label.ts'
import type { ResolvedBinding } from '../binding/resolved-binding.ts'
import { type Commanded, checkCommand, stateOf } from '../binding/state-machine.ts'
import { partsOf } from '../options/binding-options.ts'
import type { BindingRun } from './binding-run.ts'
import type { Registered } from './registry.ts'
import { logSlowStart, waitForGroups } from './start-wait.ts'

/** The deadline of a stop, and whether a static member leaves its group. */
export interface BindingStop {
  readonly deadlineMs: number
  readonly leave?: boolean
}

/** The pauses with which a binding starts. */
export interface StartPauses {
  readonly heldBy?: readonly PauseReason[]
  /** Tiers that this binding does not have, or does not read on their own, are ignored. */
  readonly pausedTiers?: readonly number[]
}

const stateChanged = engineChannel('container:state-changed')

/** A registered binding. */
export class RegisteredBinding implements Registered {
  readonly resolved: ResolvedBinding
  readonly #createRun: (of: RegisteredBinding) => BindingRun
  readonly #runtime: Runtime
  readonly #pausedBy = new Set<PauseReason>()
  readonly #pausedTiers = new Set<number>()
  #parts: readonly ResolvedBinding[]
  #commanded: Commanded = 'CREATED'
  /** The last run. It is kept after its stop, because its handlers can outlive it. */
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

  /** The binding once for each topic it reads; with a regular expression, for each topic discovered so far. */
  get parts(): readonly ResolvedBinding[] {
    return this.#parts
  }

  /** Returns the part of a topic. @throws ArgumentError for an unknown topic, or for none when it reads several */
  partOf(topic?: string): ResolvedBinding {
    const [part, other] = topic === undefined ? this.#parts : this.#parts.filter((one) => one.topic === topic)
    if (part !== undefined && other === undefined) return part
    const known = this.topics.join(', ') || 'none yet'
    throw new ArgumentError(
      topic === undefined
        ? `Binding '${this.label}' does not read exactly one topic. Set topic to one of: ${known}.`
        : `Binding '${this.label}' does not read ${topic}; it reads: ${known}.`,
    )
  }

  /** Adds discovered topics. Concurrent discoveries may add the same one. */
  found(parts: readonly ResolvedBinding[]): void {
    const known = new Set(this.topics)
    this.#parts = [...this.#parts, ...parts.filter(({ topic }) => !known.has(topic))]
  }

  /** Removes deleted topics. */
  forget(topics: readonly string[]): void {
    this.#parts = this.#parts.filter(({ topic }) => !topics.includes(topic))
  }

  /** The name for operators, with the cluster unless that is the default one. */
  get label(): string {
    return bindingLabel(this)
  }

  get commanded(): Commanded {
    return this.#commanded
  }

  get state(): ContainerState {
    return stateOf(this.#commanded, this.#pausedBy)
  }

  /** The reasons for which the whole binding is paused. */
  get pausedBy(): ReadonlySet<PauseReason> {
    return this.#pausedBy
  }

  /** The tiers that an operator paused on their own. */
  get pausedTiers(): ReadonlySet<number> {
    return this.#pausedTiers
  }

  get breaker(): CircuitState {
    return this.#isOpen ? (this.#run?.breaker.state ?? 'CLOSED') : 'CLOSED'
  }

  /** Returns the state of a key; undefined without `orderingMode: KEY`, and if its partition is not read here. */
  keyState(topic: string, partition: number, key: Buffer): KeyState | undefined {
    return this.#isOpen ? this.#run?.keyState(topic, partition, key) : undefined
  }

  /** Undefined unless it runs. */
  get circuit(): CircuitFigures | undefined {
    return this.#isOpen ? this.#run?.circuit : undefined
  }

  /** True from the beginning of a start to the end of its stop. */
  get isOpen(): boolean {
    return this.#isOpen
  }

  /** The monotonic time at which the current start began; undefined while none is in progress. */
  get startingSince(): number | undefined {
    return this.#startingSince
  }

  /**
   * Runs a part of a start, including its preparation. Parts may nest or overlap with parts of a concurrent start; the
   * start is over with the last of them, or once the binding runs.
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

  /** Returns the status of every container; none while the binding is stopped. */
  containers(): readonly ContainerStatus[] {
    return this.#isOpen ? (this.#run?.status() ?? []) : []
  }

  /** The time in which at least one handler of the current run ran; undefined while it is stopped. */
  get busyMs(): number | undefined {
    return this.#isOpen ? this.#run?.busyMs : undefined
  }

  /** Describes the handlers that still run after a stop because they ignore their abort signal. */
  unfinished(): readonly string[] {
    const running = this.#run?.running ?? 0
    return running === 0 ? [] : [`${running} handler${running === 1 ? '' : 's'} of binding ${this.name}`]
  }

  /** @throws InvalidContainerStateError */
  check(command: BindingCommand): void {
    const exhausted: readonly PauseReason[] = command === 'resume' && this.#hasExhausted() ? ['EXHAUSTED'] : []
    checkCommand(command, this.name, this.#commanded, new Set([...this.#pausedBy, ...exhausted]))
  }

  /** Returns whether the state allows a command. */
  allows(command: BindingCommand): boolean {
    try {
      this.check(command)
      return true
    } catch (error) {
      if (error instanceof InvalidContainerStateError) return false
      throw error
    }
  }

  /** Starts a run. A failed or aborted start leaves the state unchanged. Its pauses apply before the first fetch. */
  async start(signal: AbortSignal, { heldBy = [], pausedTiers = [] }: StartPauses = {}): Promise<void> {
    this.check('start')
    for (const tier of pausedTiers) if (this.#hasTier(tier)) this.#pausedTiers.add(tier)
    try {
      await this.#begin(signal, heldBy)
    } catch (error) {
      this.#change(() => this.#pausedBy.clear())
      this.#pausedTiers.clear()
      throw error
    }
  }

  /**
   * Runs work while this process has no member in the binding's groups, then restarts the binding paused. Static
   * members leave their groups too. A binding that does not run stays as it is.
   *
   * @throws StopDeadlineError when handlers still run at the deadline; the work is then not run.
   */
  async whileAway<T>(options: BindingStop, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    if (!this.#isOpen) return work()
    // The new run has a new, closed breaker: a binding paused by its breaker alone would resume by itself.
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
    await this.#rejoin(signal, result.status === 'rejected' ? result.reason : undefined)
    if (result.status === 'rejected') throw result.reason
    return result.value
  }

  /** Aborts the current start: otherwise a destroy would wait as long as the cluster is unreachable. */
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

  /** Stops the binding if it runs. */
  async close(options: BindingStop): Promise<void> {
    if (this.#isOpen) await this.#end(options, 'STOPPED')
  }

  pause(): void {
    this.check('pause')
    this.hold('OPERATOR')
  }

  /** Removes the operator's pause, and retries records that wait for an operator. An open breaker still pauses. */
  resume(): void {
    this.check('resume')
    this.release('OPERATOR')
    this.release('EXHAUSTED')
  }

  /**
   * Pauses one tier until {@link resumeTier}, or until the binding stops. A resume of the binding does not end it.
   * @throws InvalidContainerStateError, ArgumentError for a tier that is not read on its own
   */
  pauseTier(tier: number): void {
    this.#checkTier('pause', tier)
    this.#pausedTiers.add(tier)
    this.#run?.pauseTier(tier)
    this.#logTier(tier, 'Tier paused')
  }

  /** Ends the pause of one tier. @throws InvalidContainerStateError, ArgumentError as {@link pauseTier} */
  resumeTier(tier: number): void {
    this.#checkTier('resume', tier)
    this.#pausedTiers.delete(tier)
    this.#run?.resumeTier(tier)
    this.#logTier(tier, 'Tier resumed')
  }

  /** Pauses these tiers, and resumes all others. A binding that does not run has none, and learns them at its start. */
  keepPaused(tiers: readonly number[]): void {
    if (this.#commanded !== 'RUNNING') return
    for (const tier of this.#pausedTiers) if (!tiers.includes(tier)) this.resumeTier(tier)
    for (const tier of tiers) if (this.#hasTier(tier) && !this.#pausedTiers.has(tier)) this.pauseTier(tier)
  }

  /**
   * Makes a record that failed and stays in its partition or its waiting topic a dead letter. It is written when the partition runs: at once, or
   * after a resume of the binding.
   * @throws ArgumentError if this process has no such record
   */
  sendToDlt(record: PausedRecord): void {
    const { tier = 0, partition, offset } = record
    const { topic, tiers } = this.partOf(record.topic)
    if (this.#isOpen && this.#run?.condemn(topic, record) === true) return
    const from = tiers.find((one) => one.tier === tier)?.topic ?? topic
    throw new ArgumentError(
      `Cannot send ${from}-${partition}@${offset} of binding '${this.label}' to its dead letter topic: ` +
        'this process has no failed record at that offset.',
      { hint: 'Health names the offset of a paused partition. Use skip for a record that has not failed.' },
    )
  }

  /** Pauses all containers for a reason. Their members stay in their groups. */
  hold(reason: PauseReason): void {
    this.#change(() => this.#pausedBy.add(reason))
    if (this.#isOpen) this.#run?.pause(reason)
  }

  /** Removes one pause reason. The binding stays paused while others remain. */
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
    for (const tier of this.#pausedTiers) run.pauseTier(tier)
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

  async #rejoin(signal: AbortSignal, earlier: unknown): Promise<void> {
    const { label: binding } = this
    try {
      await this.#begin(signal, [...this.#pausedBy])
    } catch (error) {
      this.#change(() => {
        this.#commanded = 'STOPPED'
        this.#pausedBy.clear()
        this.#pausedTiers.clear()
      })
      if (earlier !== undefined)
        this.#runtime.logger.error({ err: earlier, binding }, 'Operation failed before the binding could be restarted')
      throw new BindingNotResumedError(binding, error)
    }
  }

  async #end(options: BindingStop, to: 'STOPPED' | 'DESTROYED'): Promise<void> {
    if (this.#isOpen) await this.#run?.stop(options)
    this.#isOpen = false
    this.#change(() => {
      this.#commanded = to
      this.#pausedBy.clear()
      this.#pausedTiers.clear()
    })
  }

  #checkTier(command: 'pause' | 'resume', tier: number): void {
    if (this.#commanded !== 'RUNNING')
      throw new InvalidContainerStateError(command, this.name, this.state, ['RUNNING', 'PAUSED'])
    const { tiers, waitingTopic } = this.resolved
    if (waitingTopic !== undefined)
      throw new ArgumentError(
        `Cannot ${command} tier ${tier} of binding '${this.label}': with orderingMode KEY all tiers share the waiting ` +
          'topic. Pause the binding instead.',
      )
    if (this.#hasTier(tier)) return
    const known = tiers.length === 0 ? 'it has no tiers' : `its tiers are 1 to ${tiers.length}`
    throw new ArgumentError(`Cannot ${command} tier ${tier} of binding '${this.label}': ${known}.`)
  }

  /** Returns whether a tier is read on its own. */
  #hasTier(tier: number): boolean {
    const { tiers, waitingTopic } = this.resolved
    return waitingTopic === undefined && tiers.some((one) => one.tier === tier)
  }

  #logTier(tier: number, text: string): void {
    this.#runtime.logger.info({ binding: this.name, cluster: this.cluster, tier }, text)
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
    this.#runtime.logger.info({ binding, cluster, from, to, pausedBy }, 'Binding state changed')
    if (stateChanged.hasSubscribers) stateChanged.publish({ binding, cluster, from, to, pausedBy })
  }
}
