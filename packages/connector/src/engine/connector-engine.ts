/**
 * Runs the bindings of a {@link Connector}.
 *
 *     start     topics ─▶ every binding: source, then tiers ─▶ RUNNING       one fails: all are stopped
 *     command   Connector, EventBusAdmin ─▶ Control ─▶ BindingCommands, one at a time per binding
 *     stop      no more commands ─▶ shut-down.ts ─▶ STOPPED
 *
 * The clients of the clusters belong to the user and are not closed.
 */

import {
  type AdministrationOptions,
  ArgumentError,
  applicationOperator,
  createService,
  describeThrown,
  type OperatorIdentity,
  OptionsError,
  type Runtime,
  type Service,
  type StopOptions,
} from '@waybill/core'
import {
  AuditedOperations,
  abortReason,
  type Deadline,
  type OptionViolation,
  type ServiceState,
  withContextFields,
} from '@waybill/core/internal'
import type { KafkaClient, TopicPartition } from '@waybill/kafka'
import type { AdminOperation } from '../api/admin-operation.ts'
import type { Binding } from '../api/binding.ts'
import type { BindingView } from '../api/binding-view.ts'
import type { ConfigCode } from '../api/config-code.ts'
import type { Connector, DerivedTopicsMode } from '../api/connector.ts'
import { BindingAlreadyExistsError, ConnectorClosedError } from '../api/connector-errors.ts'
import type { AuditRow, ConnectorHealth, RecordLoss } from '../api/connector-report.ts'
import type { ContainerState } from '../api/container-state.ts'
import type { Control, ControlTarget, DesiredState, StateCommand } from '../api/control.ts'
import type { EventBusAdmin } from '../api/event-bus-admin.ts'
import { jsonSafe } from '../api/json-safe.ts'
import type { ResolvedBinding } from '../binding/resolved-binding.ts'
import { ConnectorWatch } from '../health/connector-watch.ts'
import { readAudit } from '../losses/audit-report.ts'
import { LossReport } from '../losses/loss-report.ts'
import { BindingCommands, heldBy, targetOf } from '../operations/binding-commands.ts'
import { ConnectorAdmin } from '../operations/connector-admin.ts'
import { failureOf } from '../operations/failure-of.ts'
import { createLocalControl } from '../operations/local-control.ts'
import { checkRelations, resolveBinding, resolveBindings } from '../options/binding-options.ts'
import { containerPlacesOf, hostWarning } from '../options/container-places.ts'
import type { AdministeredBinding } from '../positions/administered-binding.ts'
import { PositionOperations } from '../positions/position-operations.ts'
import { createDeadLetterAdmin } from '../replay/create-dead-letter-admin.ts'
import type { ContainerFactory } from '../run/binding-run.ts'
import { ClusterLink } from '../run/cluster-link.ts'
import { RegisteredBinding } from '../run/registered-binding.ts'
import { Registry, registryKey } from '../run/registry.ts'
import { logSlowStart, waitForControl, waitForTopics } from '../run/start-wait.ts'
import { BindingPreparation } from './binding-preparation.ts'
import { BindingRuns } from './binding-runs.ts'
import { shutDown, shutDownMs } from './shut-down.ts'
import { oneBinding, type Starter, wholeConnector } from './start-request.ts'

/** The dependencies of the engine. */
export interface ConnectorEngineOptions {
  readonly clusters: Readonly<Record<string, KafkaClient>>
  readonly derivedTopics: DerivedTopicsMode
  readonly stallAfterMs: number
  readonly instance: string
  readonly runtime: Runtime
  readonly code?: ConfigCode
  readonly control?: Control
  readonly administration?: AdministrationOptions<AdminOperation>
  readonly createContainer?: ContainerFactory
}

/** The states from the call of stop() on. Running starts are aborted shortly after it. */
const closedStates: ReadonlySet<ServiceState> = new Set(['STOPPING', 'STOPPED', 'FAILED'])

/** The identity of commands from the program itself. */
const application = applicationOperator()

/** Implements {@link Connector}. */
export class ConnectorEngine implements Connector {
  readonly admin: EventBusAdmin
  readonly #options: ConnectorEngineOptions
  readonly #runtime: Runtime
  readonly #registry = new Registry<RegisteredBinding>()
  readonly #clusters: ReadonlyMap<string, ClusterLink>
  readonly #losses: LossReport
  readonly #watch: ConnectorWatch
  readonly #preparation: BindingPreparation
  readonly #runs: BindingRuns
  readonly #commands: BindingCommands
  readonly #control: Control
  readonly #audited: AuditedOperations<AdminOperation>
  readonly #joined: Disposable
  readonly #closing = new AbortController()
  readonly #service: Service
  #hasStarted = false
  #startFailure: string | undefined

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
      controlTrouble: () => this.#control.reach().trouble,
      startFailure: () => (this.state === 'FAILED' ? this.#startFailure : undefined),
      runtime: this.#runtime,
      stallAfterMs: options.stallAfterMs,
    })
    this.#preparation = new BindingPreparation({
      clusters: this.#clusters,
      bindings: () => this.#registry.list(),
      derivedTopics: options.derivedTopics,
      losses: this.#losses,
      runtime: this.#runtime,
    })
    this.#runs = new BindingRuns({
      ...options,
      runtime: this.#runtime,
      losses: this.#losses,
      clusterOf: (binding) => this.#clusterOf(binding),
      discoverTopics: (binding, signal) => this.#preparation.discoverTopics(binding, signal),
    })
    this.#commands = this.#createCommands()
    this.#control = options.control ?? createLocalControl(this.#runtime)
    this.#audited = new AuditedOperations(this.#runtime, this.#control.scope, options.administration ?? {})
    this.admin = this.#createAdmin()
    this.#service = createService({
      name: 'connector',
      runtime: this.#runtime,
      // A binding can be started alone, so there may be something to stop before start().
      holdsFromCreation: true,
      start: (signal) => this.#tryStart(signal),
      stop: (deadline) => this.#stopAll(deadline),
      running: () => this.#registry.list().flatMap((binding) => binding.unfinished()),
    })
    // Last: a control that runs already asks for states and health at once.
    this.#joined = this.#control.join(this.#commands)
  }

  get state(): ServiceState {
    return this.#service.state
  }

  /** Registers the bindings of the connector's options. @throws OptionsError with every violation. */
  add(given: Readonly<Record<string, Binding>>): void {
    for (const resolved of resolveBindings(given, [...this.#clusters.keys()], this.#runtime.logger))
      this.#register(resolved)
  }

  async register(name: string, binding: Binding): Promise<void> {
    this.#commands.assertOpen(`register binding '${name}'`)
    const resolved = resolveBinding(name, binding, this.#runtime.logger)
    if (this.#registry.has(resolved)) throw new BindingAlreadyExistsError(registryKey(resolved))
    this.#checkWithOthers(resolved)
    const registered = this.#register(resolved)
    if (this.state === 'CREATED' || !resolved.autoStartup) return
    try {
      await this.#commands.startAsDesired(registered)
    } catch (error) {
      await this.#commands.remove(registered)
      throw error
    }
  }

  async start(name?: string): Promise<void> {
    if (name === undefined) return this.#service.start()
    this.#commands.assertOpen(`start binding '${name}'`)
    await this.#submit(this.#registry.get(name), { type: 'START' })
  }

  stop(options?: StopOptions): Promise<void>
  stop(name: string, options?: StopOptions): Promise<void>
  async stop(first?: string | StopOptions, second?: StopOptions): Promise<void> {
    if (typeof first === 'string') await this.#submit(this.#registry.get(first), { type: 'STOP', ...second })
    else await this.#service.stop(first ?? this.#wholeTime())
  }

  async pause(name?: string): Promise<void> {
    await this.#each(name, 'PAUSE')
  }

  async resume(name?: string): Promise<void> {
    await this.#each(name, 'RESUME')
  }

  async destroy(name: string, options?: StopOptions): Promise<void> {
    await this.#submit(this.#registry.get(name), { type: 'DESTROY', ...options })
  }

  async unregister(name: string): Promise<void> {
    await this.#submit(this.#registry.get(name), { type: 'UNREGISTER' })
  }

  getState(name: string): ContainerState {
    return this.#registry.get(name).state
  }

  listBindings(): readonly BindingView[] {
    const views = this.#registry.list().map((binding) => ({
      name: binding.name,
      cluster: binding.cluster,
      topic: binding.resolved.topic,
      topics: binding.topics,
      groupId: binding.resolved.groupId,
      state: binding.state,
      pausedBy: [...binding.pausedBy],
      breaker: binding.breaker,
      containers: binding.containers(),
    }))
    return jsonSafe(views)
  }

  health(): ConnectorHealth {
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
    return jsonSafe(rows.flat())
  }

  async acknowledgeLoss(
    name: string,
    operator: OperatorIdentity,
    partition?: TopicPartition,
  ): Promise<readonly RecordLoss[]> {
    const target = this.#registry.get(name).label
    const asked = { operation: 'ACKNOWLEDGE_LOSS', target, request: { partition }, operator } as const
    const acknowledge = async () => this.#losses.acknowledge(target, partition)
    return jsonSafe(await this.#audited.run(asked, acknowledge, (losses) => losses))
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }

  async #tryStart(signal: AbortSignal): Promise<void> {
    // First, so that health shows an unreachable cluster, which blocks the start.
    this.#watch.start()
    this.#control.begin()
    try {
      await this.#startAll(signal)
    } catch (error) {
      this.#startFailure = describeThrown(error)
      throw error
    }
    this.#hasStarted = true
  }

  async #startAll(signal: AbortSignal): Promise<void> {
    const bindings = this.#registry
      .list()
      .filter(({ commanded, resolved }) => commanded === 'CREATED' && resolved.autoStartup)
    // An unreachable cluster blocks the preparation for long, so check before it. Its requests are harmless.
    signal.throwIfAborted()
    const prepared = this.#prepare(bindings, wholeConnector, signal)
    // The first failure fails the service, which aborts the other starts and stops the running bindings.
    await Promise.all(
      bindings.map((binding) =>
        binding.duringStart(async () => {
          await prepared
          await this.#commands.serially(binding, () => this.#startAsDesired(binding, signal))
        }),
      ),
    )
    await prepared // Without bindings, nothing above has awaited it.
  }

  async #startAsDesired(binding: RegisteredBinding, signal: AbortSignal): Promise<void> {
    if (binding.commanded !== 'CREATED') return // A command has started it meanwhile.
    const target = targetOf(binding)
    const desired = await this.#desired(target, signal)
    if (desired === 'STOPPED') return
    await binding.start(signal, { heldBy: heldBy(desired), pausedTiers: this.#control.pausedTiers(target) })
  }

  async #prepare(bindings: readonly RegisteredBinding[], starter: Starter, signal: AbortSignal): Promise<void> {
    if (bindings.length === 0) return
    const prepare = () => Promise.race([this.#preparation.prepare(bindings, starter), aborted(signal)])
    await logSlowStart(waitForTopics(bindings), this.#runtime, prepare, signal)
  }

  #desired(target: ControlTarget, signal: AbortSignal): Promise<DesiredState | undefined> {
    const ask = () => Promise.race([this.#control.desired(target), aborted(signal)])
    return logSlowStart(waitForControl(target.binding), this.#runtime, ask, signal)
  }

  async #stopAll(deadline: Deadline): Promise<void> {
    this.#closing.abort(new ConnectorClosedError('continue to start'))
    try {
      await shutDown(
        {
          bindings: this.#registry.list(),
          clusters: this.#clusters.values(),
          serially: (binding, command) => this.#commands.serially(binding, command),
        },
        deadline,
      )
    } finally {
      this.#watch.stop()
      // The user's control outlives the connector. The local one stays joined: it still returns the stopped states.
      if (this.#options.control !== undefined) this.#joined[Symbol.dispose]()
    }
  }

  #wholeTime(): StopOptions {
    return { deadlineMs: shutDownMs(this.#registry.list()) }
  }

  async #submit(binding: RegisteredBinding, command: StateCommand): Promise<void> {
    const failure = failureOf(await this.#control.submit({ target: targetOf(binding), command, operator: application }))
    if (failure !== undefined) throw failure
  }

  /** Submits a command for one binding, or for all bindings whose state allows it. */
  async #each(name: string | undefined, type: 'PAUSE' | 'RESUME'): Promise<void> {
    if (name !== undefined) await this.#submit(this.#registry.get(name), { type })
    else await Promise.all(this.#registry.list().map((binding) => this.#submit(binding, { type, isForAll: true })))
  }

  #createCommands(): BindingCommands {
    return new BindingCommands({
      instance: this.#options.instance,
      registry: this.#registry,
      forgotten: (binding) => {
        this.#losses.forget(binding.label)
        this.#watch.forget(binding)
      },
      positions: new PositionOperations({ runtime: this.#runtime, audited: (row) => this.#losses.audited(row) }),
      closing: this.#closing.signal,
      isClosed: () => closedStates.has(this.state),
      desired: (target) => this.#desired(target, this.#closing.signal),
      figures: {
        clock: this.#runtime.clock,
        metrics: this.#runtime.metrics,
        endOf: (binding, at) => this.#clusterOf(binding).reader.end(at),
      },
      health: () => this.health(),
      pausedTiers: (target) => this.#control.pausedTiers(target),
      prepare: async (binding) => {
        this.#watch.start()
        await this.#prepare([binding], oneBinding(binding.label), this.#closing.signal)
      },
      administered: (binding, topic) => this.#administered(binding, topic),
    })
  }

  #createAdmin(): EventBusAdmin {
    return new ConnectorAdmin({
      connector: this,
      instance: this.#options.instance,
      control: this.#control,
      code: { handlers: {}, ...this.#options.code, clusters: this.#options.clusters },
      deadLetters: createDeadLetterAdmin({
        find: (name) => {
          const binding = this.#registry.get(name)
          return { parts: binding.parts, client: this.#clusterOf(binding).client }
        },
        runtime: this.#runtime,
      }),
      find: (name) => this.#registry.get(name),
      endOf: (binding, at) => this.#clusterOf(binding).reader.end(at),
      audited: this.#audited,
    })
  }

  #administered(binding: RegisteredBinding, topic?: string): AdministeredBinding {
    return { label: binding.label, resolved: binding.partOf(topic), client: this.#clusterOf(binding).client }
  }

  #clusterOf({ cluster }: RegisteredBinding): ClusterLink {
    const link = this.#clusters.get(cluster)
    if (link === undefined) throw new ArgumentError(`Cluster '${cluster}' does not exist.`)
    return link
  }

  #register(resolved: ResolvedBinding): RegisteredBinding {
    const registered = new RegisteredBinding(resolved, (of) => this.#runs.create(of), this.#runtime)
    this.#registry.register(registered)
    const doubt = hostWarning(resolved, this.#options.instance)
    if (doubt !== undefined) this.#runtime.logger.warn({ binding: resolved.name }, doubt)
    return registered
  }

  #checkWithOthers(resolved: ResolvedBinding): void {
    const violations: OptionViolation[] = []
    const others = this.#registry.list().flatMap((one) => one.parts)
    checkRelations([...others, resolved], [...this.#clusters.keys()], (path, problem) =>
      violations.push({ path, problem }),
    )
    if (violations.length > 0) throw new OptionsError(`Binding ${resolved.name}`, violations)
  }

  async #auditOne(binding: RegisteredBinding): Promise<readonly AuditRow[]> {
    const { admin } = this.#clusterOf(binding).client
    const places = binding.parts.flatMap(containerPlacesOf)
    const rows = await Promise.all(
      places.map(({ topic, groupId }) => readAudit({ binding: binding.label, topic, groupId }, admin)),
    )
    for (const row of rows.flat()) this.#losses.audited(row)
    return rows.flat()
  }
}

/** Rejects when the signal aborts after this call. */
function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(abortReason(signal)), { once: true })
  })
}
