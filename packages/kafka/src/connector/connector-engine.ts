/**
 * What runs the bindings of a {@link Connector}.
 *
 *     start   topics ─▶ every binding: source, then tiers ─▶ RUNNING       one fails: all are stopped
 *     stop    no more commands ─▶ every binding: drain, commit, leave ─▶ dead letter producers ─▶ STOPPED
 *
 * The dead letter producers come last, because draining writes with them (S0-160). The clusters' clients are the user's.
 */

import {
  ArgumentError,
  createNamedMutex,
  createService,
  type Deadline,
  OptionsError,
  type OptionViolation,
  type Runtime,
  type Service,
  type ServiceState,
  StopDeadlineError,
  type StopOptions,
  UnreachableError,
  withContextFields,
} from '@waybill/core'
import { durationMs, resolveOptions } from '@waybill/core/option'
import type { KafkaClient } from '../client/kafka-client.ts'
import type { TopicPartition } from '../client/types.ts'
import { announceEvent } from './announce-event.ts'
import { type AuditRow, readAudit } from './audit-report.ts'
import type { Binding } from './binding.ts'
import { BindingRun, type ContainerFactory } from './binding-run.ts'
import { ClusterLink } from './cluster-link.ts'
import type { BindingView, Connector } from './connector.ts'
import { BindingAlreadyExistsError, ConnectorClosedError } from './connector-errors.ts'
import { ConnectorWatch } from './connector-watch.ts'
import type { ContainerEvent } from './container/container-deps.ts'
import type { ContainerPlace } from './container/container-place.ts'
import type { ContainerState } from './container-state.ts'
import type { Health } from './health-log.ts'
import type { Loss } from './loss-ledger.ts'
import { LossReport } from './loss-report.ts'
import { checkRelations, resolveBinding, resolveBindings } from './option/binding-options.ts'
import { containerPlacesOf, hostWarning } from './option/container-places.ts'
import { type DerivedTopicsMode, ensureDerivedTopics } from './option/derived-topics.ts'
import type { ResolvedBinding } from './option/resolved-binding.ts'
import { RegisteredBinding } from './registered-binding.ts'
import { Registry, registryKey } from './registry.ts'
import { findStranded } from './stranded-tiers.ts'

/** What the engine stands on. */
export interface ConnectorEngineOptions {
  readonly clusters: Readonly<Record<string, KafkaClient>>
  readonly derivedTopics: DerivedTopicsMode
  readonly stallAfterMs: number
  readonly instance: string
  readonly runtime: Runtime
  readonly createContainer?: ContainerFactory
}

/** Of the time a stop has, what bindings may use; the rest is for what they wrote last. */
const bindingShare = 0.9

/** See the file's comment. */
export class ConnectorEngine implements Connector {
  readonly #options: ConnectorEngineOptions
  readonly #runtime: Runtime
  readonly #registry = new Registry<RegisteredBinding>()
  readonly #commands = createNamedMutex()
  readonly #clusters: ReadonlyMap<string, ClusterLink>
  readonly #losses: LossReport
  readonly #watch: ConnectorWatch
  readonly #closing = new AbortController()
  readonly #service: Service
  #hasStarted = false

  constructor(options: ConnectorEngineOptions) {
    this.#options = options
    this.#runtime = { ...options.runtime, logger: withContextFields(options.runtime.logger) }
    this.#losses = new LossReport(this.#runtime)
    this.#clusters = new Map(
      Object.entries(options.clusters).map(([name, client]) => [name, new ClusterLink(name, client, this.#runtime)]),
    )
    this.#watch = new ConnectorWatch({
      bindings: () => this.#registry.list(),
      clusters: this.#clusters,
      losses: this.#losses.ledger,
      runtime: this.#runtime,
      stallAfterMs: options.stallAfterMs,
    })
    this.#service = createService(
      'connector',
      {
        // A single binding may run although the connector was never started.
        holdsFromCreation: true,
        start: (signal) => this.#startAll(signal),
        stop: (deadline) => this.#stopAll(deadline),
        running: () => this.#unfinished(),
      },
      this.#runtime,
    )
  }

  get state(): ServiceState {
    return this.#service.state
  }

  /** The bindings given with the connector. @throws OptionsError with every violation. */
  add(given: Readonly<Record<string, Binding>>): void {
    for (const resolved of resolveBindings(given, [...this.#clusters.keys()], this.#runtime.logger))
      this.#register(resolved)
  }

  async register(name: string, binding: Binding): Promise<void> {
    this.#assertOpen(`register binding '${name}'`)
    const resolved = resolveBinding(name, binding, this.#runtime.logger)
    if (this.#registry.has(resolved)) throw new BindingAlreadyExistsError(registryKey(resolved))
    this.#checkWithOthers(resolved)
    const registered = this.#register(resolved)
    if (this.state === 'CREATED') return
    try {
      await this.#startOne(registered)
    } catch (error) {
      await this.#serially(registered, () => this.#forget(registered, resolved.shutdownTimeoutMs))
      throw error
    }
  }

  async start(name?: string): Promise<void> {
    if (name === undefined) return this.#service.start()
    this.#assertOpen(`start binding '${name}'`)
    await this.#startOne(this.#registry.get(name))
  }

  stop(options?: StopOptions): Promise<void>
  stop(name: string, options?: StopOptions): Promise<void>
  async stop(first?: string | StopOptions, second?: StopOptions): Promise<void> {
    if (typeof first !== 'string') return this.#service.stop(first)
    const binding = this.#registry.get(first)
    const deadlineMs = deadlineOf(binding, second)
    await this.#serially(binding, () => binding.stop({ deadlineMs }))
    this.#assertFinished(binding)
  }

  async pause(name?: string): Promise<void> {
    await this.#each(name, 'pause', (binding) => binding.pause())
  }

  async resume(name?: string): Promise<void> {
    await this.#each(name, 'resume', (binding) => binding.resume())
  }

  async destroy(name: string, options?: StopOptions): Promise<void> {
    const binding = this.#registry.get(name)
    const deadlineMs = deadlineOf(binding, options)
    binding.cancelStart()
    await this.#serially(binding, async () => {
      binding.check('destroy')
      await this.#forget(binding, deadlineMs)
    })
    this.#losses.forget(binding.label)
    this.#assertFinished(binding)
  }

  async unregister(name: string): Promise<void> {
    const binding = this.#registry.get(name)
    await this.#serially(binding, async () => {
      binding.check('unregister')
      await this.#forget(binding, 0)
    })
    this.#losses.forget(binding.label)
  }

  getState(name: string): ContainerState {
    return this.#registry.get(name).state
  }

  listBindings(): readonly BindingView[] {
    return this.#registry.list().map((binding) => ({
      name: binding.name,
      cluster: binding.cluster,
      topic: binding.topic,
      groupId: binding.resolved.groupId,
      state: binding.state,
      pausedBy: [...binding.pausedBy],
      breaker: binding.breaker,
      containers: binding.containers(),
    }))
  }

  health(): Health {
    return this.#watch.health()
  }

  live(): boolean {
    return this.state !== 'FAILED'
  }

  ready(): boolean {
    return this.state === 'RUNNING' && this.health().status !== 'DOWN'
  }

  startup(): boolean {
    return this.#hasStarted
  }

  async audit(): Promise<readonly AuditRow[]> {
    const rows = await Promise.all(this.#registry.list().map((binding) => this.#auditOne(binding)))
    return rows.flat()
  }

  acknowledgeLoss(name: string, partition?: TopicPartition): readonly Loss[] {
    return this.#losses.acknowledge(this.#registry.get(name).label, partition)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#service.stop()
  }

  async #startAll(signal: AbortSignal): Promise<void> {
    const bindings = this.#registry.list().filter(({ commanded }) => commanded === 'CREATED')
    await this.#ensureTopics(bindings)
    await Promise.all(bindings.map((binding) => this.#lookForStranded(binding)))
    this.#watch.start()
    // The first failure fails the service, which ends the other starts by the signal and stops what runs.
    await Promise.all(
      bindings.map((binding) =>
        this.#serially(binding, async () => {
          // Somebody else may have started it meanwhile.
          if (binding.commanded === 'CREATED') await binding.start(signal)
        }),
      ),
    )
    this.#hasStarted = true
  }

  async #startOne(binding: RegisteredBinding): Promise<void> {
    await this.#serially(binding, async () => {
      binding.check('start')
      await this.#ensureTopics([binding])
      await this.#lookForStranded(binding)
      this.#watch.start()
      await binding.start(this.#closing.signal)
    })
  }

  async #stopAll(deadline: Deadline): Promise<void> {
    this.#closing.abort(new ConnectorClosedError('go on starting'))
    const bindings = this.#registry.list()
    await Promise.all(
      bindings.map((binding) =>
        this.#serially(binding, () => binding.close({ deadlineMs: shareOf(deadline, binding) })),
      ),
    )
    this.#watch.stop()
    await Promise.all([...this.#clusters.values()].map((cluster) => cluster.close()))
    const unfinished = this.#unfinished()
    if (unfinished.length > 0) throw new StopDeadlineError('connector', unfinished)
  }

  async #ensureTopics(bindings: readonly RegisteredBinding[]): Promise<void> {
    const { derivedTopics } = this.#options
    await Promise.all(
      [...this.#clusters.values()].map(async ({ name, client }) => {
        const own = bindings.filter(({ cluster }) => cluster === name).map(({ resolved }) => resolved)
        if (own.length > 0) await ensureDerivedTopics(client.admin, own, derivedTopics, this.#runtime)
      }),
    )
  }

  /** Never rejects: a start does not depend on it. */
  async #lookForStranded(binding: RegisteredBinding): Promise<void> {
    const admin = this.#clusters.get(binding.cluster)?.client.admin
    if (admin === undefined || this.#options.derivedTopics === 'ASSUME') return
    try {
      for (const stranded of await findStranded(binding.resolved, admin)) this.#losses.stranded(binding.label, stranded)
    } catch (err) {
      const text = 'Whether records wait in former tiers of the binding could not be learnt; it starts all the same'
      this.#runtime.logger.warn({ err, binding: binding.label }, text)
    }
  }

  #unfinished(): readonly string[] {
    return this.#registry.list().flatMap((binding) => binding.unfinished())
  }

  /** I18: whoever was told that it stopped may close what its handlers use. */
  #assertFinished(binding: RegisteredBinding): void {
    const unfinished = binding.unfinished()
    if (unfinished.length > 0) throw new StopDeadlineError(`binding ${binding.label}`, unfinished)
  }

  #assertOpen(what: string): void {
    if (this.#closing.signal.aborted || this.state === 'STOPPED' || this.state === 'FAILED')
      throw new ConnectorClosedError(what)
  }

  #register(resolved: ResolvedBinding): RegisteredBinding {
    const registered = new RegisteredBinding(resolved, (of) => this.#createRun(of), this.#runtime)
    this.#registry.register(registered)
    const doubt = hostWarning(resolved, this.#options.instance)
    if (doubt !== undefined) this.#runtime.logger.warn({ binding: resolved.name }, doubt)
    return registered
  }

  #createRun(of: RegisteredBinding): BindingRun {
    const { instance, createContainer } = this.#options
    const cluster = this.#clusters.get(of.cluster)
    if (cluster === undefined) throw new ArgumentError(`There is no cluster '${of.cluster}'.`)
    return new BindingRun({
      binding: of.resolved,
      client: cluster.client,
      publisher: cluster.publisher,
      runtime: this.#runtime,
      instance,
      ...(createContainer === undefined ? {} : { createContainer }),
      hold: (reason) => of.hold(reason),
      release: (reason) => of.release(reason),
      onEvent: (event, place) => this.#onContainerEvent(of, event, place),
    })
  }

  #checkWithOthers(resolved: ResolvedBinding): void {
    const violations: OptionViolation[] = []
    const others = this.#registry.list().map((one) => one.resolved)
    checkRelations([...others, resolved], [...this.#clusters.keys()], (path, problem) =>
      violations.push({ path, problem }),
    )
    if (violations.length > 0) throw new OptionsError(`Binding ${resolved.name}`, violations)
  }

  /** Destroyed first: a command that waits for its turn would start what no stop of the connector finds any more. */
  async #forget(binding: RegisteredBinding, deadlineMs: number): Promise<void> {
    if (binding.allows('destroy')) await binding.destroy({ deadlineMs })
    this.#registry.unregister(binding)
  }

  #serially<T>(binding: RegisteredBinding, command: () => T | Promise<T>): Promise<T> {
    return this.#commands.run(registryKey(binding), command)
  }

  /** One by name, or all that the command is for. */
  async #each(
    name: string | undefined,
    command: 'pause' | 'resume',
    run: (binding: RegisteredBinding) => void,
  ): Promise<void> {
    const bindings = name === undefined ? this.#registry.list() : [this.#registry.get(name)]
    await Promise.all(
      bindings.map((binding) =>
        this.#serially(binding, () => {
          if (name !== undefined || binding.allows(command)) run(binding)
        }),
      ),
    )
  }

  #onContainerEvent(binding: RegisteredBinding, event: ContainerEvent, place: ContainerPlace): void {
    switch (event.type) {
      case 'PAUSE_BINDING':
        binding.hold('EXHAUSTED')
        break
      case 'POSITION_LOST':
        this.#losses.positionLost(binding.label, event.loss)
        break
      case 'UNACCOUNTED':
        this.#losses.unaccounted(binding.label, event.partition, event.problem)
        break
      case 'DEAD_LETTERED':
      case 'ASSIGNED':
      case 'RELEASED':
        announceEvent(binding.label, place.topic, event)
        break
      default:
        throw new UnreachableError(event)
    }
  }

  async #auditOne(binding: RegisteredBinding): Promise<readonly AuditRow[]> {
    const admin = this.#clusters.get(binding.cluster)?.client.admin
    if (admin === undefined) return []
    const places = containerPlacesOf(binding.resolved)
    const rows = await Promise.all(
      places.map(({ topic, groupId }) => readAudit({ binding: binding.label, topic, groupId }, admin)),
    )
    for (const row of rows.flat()) this.#losses.audited(row)
    return rows.flat()
  }
}

const stopRules = { deadlineMs: durationMs({ default: 0, because: 'that of the binding stands in for it' }) }

function deadlineOf({ name, resolved }: RegisteredBinding, options: StopOptions | undefined): number {
  const given = resolveOptions(`stop of binding ${name}`, stopRules, options)
  return options?.deadlineMs === undefined ? resolved.shutdownTimeoutMs : given.deadlineMs
}

function shareOf(deadline: Deadline, { resolved }: RegisteredBinding): number {
  return Math.min(resolved.shutdownTimeoutMs, Math.floor(deadline.remainingMs() * bindingShare))
}
