/** A process that runs a connector, from its start to its stop or its death. */

import {
  type Binding,
  type Connector,
  createConnector,
  type DeduplicateOptions,
  defineBinding,
} from '@waybill/connector'
import { StopDeadlineError } from '@waybill/core'
import type { KafkaClient, KafkaRecord } from '@waybill/kafka'
import { errorName, type KafkaApi, type RequestOf, type ResponseOf } from '@waybill/kafka/wire'
import type { NetworkWitness, SimProcess } from '../world/sim-process.ts'
import { type BindingPlan, isFiltered } from './binding-plan.ts'
import { ConsumerWatch } from './consumer-watch.ts'
import { type DeduplicationPlan, ownKeyOf } from './deduplication-plan.ts'
import { EpochWatch } from './epoch-watch.ts'
import { type HandlerProcess, isGivenUp } from './handler-journal.ts'
import type { MarkTx } from './mark-tx.ts'
import { MemberWatch } from './member-watch.ts'
import { selectionOf } from './source-plan.ts'
import type { World } from './world.ts'

/** Runs when the engine reaches a failpoint. */
export type Failpoint = (name: string, process: ConnectorProcess) => void | Promise<void>

/** How long a process waits before it retries a failed start. */
const startAgainMs = 400

/** See the file's comment. */
export class ConnectorProcess implements HandlerProcess {
  readonly name: string
  readonly sim: SimProcess
  /** Bindings that an operator has paused here, with the time of the pause. */
  readonly paused = new Map<string, number>()
  /** How often bindings were stopped and restarted here. */
  restarts = 0
  /** One watch for each consumer created here. */
  readonly consumerWatches: ConsumerWatch[] = []
  readonly epochs = new EpochWatch()
  state: 'LIVING' | 'STOPPING' | 'STOPPED' | 'DEAD' = 'LIVING'
  readonly #world: World
  readonly #instance: string
  readonly #failpoint: Failpoint
  readonly #client: KafkaClient
  #connector: Connector
  readonly #dead = Promise.withResolvers<void>()
  #drainsSince = Number.POSITIVE_INFINITY
  readonly #members = new MemberWatch()
  #isStarted = false

  /**
   * @param instance - the host name: the same after a restart
   * @param failpoint - called at each failpoint that the engine reaches
   */
  constructor(world: World, name: string, instance: string, failpoint: Failpoint) {
    this.#failpoint = failpoint
    this.#world = world
    this.name = name
    this.#instance = instance
    world.connectors.set(name, this)
    const { process, client } = world.station(name, this.#witness())
    this.sim = process
    this.#client = client
    this.#connector = this.#create()
    void this.#start()
  }

  /** True once it was killed. */
  get isDead(): boolean {
    return this.state === 'DEAD'
  }

  /** Returns true when a binding is registered here. */
  has(name: string): boolean {
    try {
      this.#connector.getState(name)
      return true
    } catch {
      return false // No binding has that name: the only possible error.
    }
  }

  get isStarted(): boolean {
    return this.#isStarted && this.state === 'LIVING'
  }

  /** True while it runs and drains: no call may start. */
  get isDraining(): boolean {
    return this.isDrainingAt(this.#world.now())
  }

  isDrainingAt(at: number): boolean {
    // Calls on their way at the moment of the stop may still start.
    return at > this.#drainsSince
  }

  get connector(): Connector {
    return this.#connector
  }

  /** Returns the binding as a user writes it. */
  bindingOf(plan: BindingPlan): Binding {
    const { groupId, options, deduplicate } = plan
    const filter = (record: KafkaRecord): boolean => !isFiltered(plan, { id: record.headers.text('id') ?? '' })
    return defineBinding<MarkTx>({
      ...options,
      topic: selectionOf(plan),
      groupId,
      ...(plan.filtered === undefined ? {} : { filter }),
      ...(deduplicate === undefined || deduplicate.isOfHandler ? {} : { deduplicate: this.#waysOf(plan, deduplicate) }),
      handler: this.#world.journal.handlerOf(plan, this),
    })
  }

  #waysOf(plan: BindingPlan, deduplicate: DeduplicationPlan): DeduplicateOptions<MarkTx> {
    const { markServer } = this.#world
    const own = ownKeyOf(deduplicate)
    const key = own === undefined ? {} : { key: own }
    return deduplicate.kind === 'STORE'
      ? { ...key, store: markServer.storeOf(plan, deduplicate, this) }
      : { ...key, inbox: markServer.inboxOf(deduplicate, this) }
  }

  /** Runs an operation on the process; returns undefined when it fails, or when the process dies meanwhile. */
  async ask<T>(work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await Promise.race([work(), this.#dead.promise.then(() => undefined)])
    } catch (error) {
      this.#world.court.note(this.name, () => `refuses: ${String(error)}`)
      return undefined
    }
  }

  /** Drains and stops. Settles when the process is over, for any reason. */
  async stop(deadlineMs?: number): Promise<void> {
    if (this.state !== 'LIVING') return
    this.state = 'STOPPING'
    if (this.#connector.state === 'RUNNING') this.#drainsSince = this.#world.now()
    await Promise.race([this.#stop(deadlineMs), this.#dead.promise])
  }

  /** Stops as for two signals: the second ends the wait and the process. */
  async stopTwice(afterMs: number): Promise<void> {
    if (this.state !== 'LIVING') return
    const stopped = this.stop()
    await Promise.race([this.sim.runtime.timers.sleep(afterMs), stopped])
    if (!this.#isStopping()) return
    const { court, program } = this.#world
    court.note(this.name, () => 'receives a second signal')
    court.reach('stop: a second signal ends the wait')
    const askedAt = this.#world.now()
    await Promise.race([this.#connector.stop({ deadlineMs: 0 }).catch(() => {}), this.#dead.promise])
    const ms = this.#world.now() - askedAt
    // A frozen process does not respond.
    const mayFreeze = [...program.chaos, ...program.failpoints].some(({ kind }) => kind.startsWith('FREEZE'))
    if (!mayFreeze && ms > 1) court.violate('I18', `${this.name} takes ${ms} ms to stop at once`)
    this.kill()
    await stopped
  }

  kill(): void {
    if (this.state === 'DEAD') return
    this.state = 'DEAD'
    this.sim.kill()
    this.#dead.resolve()
    this.#world.journal.forget(this)
  }

  #isStopping(): boolean {
    return this.state === 'STOPPING'
  }

  async #stop(deadlineMs: number | undefined): Promise<void> {
    const { court } = this.#world
    court.note(this.name, () => 'receives a signal to stop')
    try {
      await this.#connector.stop(deadlineMs === undefined ? {} : { deadlineMs })
      this.#checkStopped()
    } catch (error) {
      if (!(error instanceof StopDeadlineError)) court.violate('I18', `${this.name} does not stop: ${String(error)}`)
      else court.reach('stop: its deadline passes while handlers run')
    }
    court.note(this.name, () => 'has stopped')
    this.state = 'STOPPED'
    await this.#client.close()
  }

  async #start(): Promise<void> {
    const { court } = this.#world
    for (;;) {
      try {
        await this.#connector.start()
        this.#isStarted = true
        this.#world.discover()
        return
      } catch (error) {
        court.note(this.name, () => `cannot start: ${String(error)}`)
        if (this.state !== 'LIVING') return
        court.reach('start: it fails and is retried')
        await this.sim.runtime.timers.sleep(startAgainMs)
        if (this.state !== 'LIVING') return
        this.#connector = this.#create()
      }
    }
  }

  #create(): Connector {
    const { program, moves } = this.#world
    const bindings = program.bindings.flatMap((plan) => (plan.isDynamic ? [] : [[plan.name, this.bindingOf(plan)]]))
    return createConnector({
      clusters: { default: this.#hurriedClient() },
      bindings: Object.fromEntries(bindings),
      derivedTopics: program.createsTopics ? 'CREATE' : 'ASSUME',
      instance: this.#instance,
      administration: { auditLog: { write: (entry) => moves.audited(this.name, entry) }, permits: () => true },
      ...(program.obstruction === undefined ? {} : { stallAfterMs: program.obstruction.stallAfterMs }),
      runtime: {
        ...this.sim.runtime,
        metrics: this.#world.losses.metricsOf(this.name),
        failpoint: (name) => this.#failpoint(name, this),
      },
    })
  }

  /** The client, with the program's timeouts in place of those of production. */
  #hurriedClient(): KafkaClient {
    const { deliveryTimeoutMs, produceTimeoutMs, ...consumer } = this.#world.program.timeouts
    const producing = { deliveryTimeoutMs, requestTimeoutMs: produceTimeoutMs, lingerMs: 0 }
    const client = this.#client
    return {
      ...client,
      consumer: (options) => {
        const watch = new ConsumerWatch(options.groupId, this.#world.losses, () => this.#world.now())
        this.consumerWatches.push(watch)
        return watch.watch(client.consumer({ ...watch.watchedOptions(options), ...consumer }))
      },
      producer: (preset, options) => client.producer(preset, { ...options, ...producing }),
      fencedAppender: (id, options, signal) => client.fencedAppender(id, { ...options, ...producing }, signal),
    }
  }

  #checkStopped(): void {
    const { journal, court } = this.#world
    for (const call of journal.running)
      if (call.process === this && !isGivenUp(call))
        court.violate('I18', `${this.name} has stopped, and its handler still works on ${call.id}`)
  }

  #witness(): NetworkWitness {
    const { court, program } = this.#world
    return {
      sending: (api, request) => {
        const wrong = this.#members.sending(api, request)
        if (wrong !== undefined) court.violate('I18', `${this.name}: ${wrong}`)
        if (api === 'InitProducerId' && (request as RequestOf<'InitProducerId'>).producerEpoch >= 0)
          court.reach('waiting: an owner takes another epoch after a doubt')
        if (this.isDraining && this.state === 'STOPPING' && api === 'Produce')
          court.reach('stop: a record that failed is written on while its process stops')
        if (this.state === 'STOPPED' && api === 'OffsetCommit')
          court.violate('I18', `${this.name} has stopped and sends ${api}`)
      },
      answered: (api, request, response, sentAt) => {
        this.epochs.answered(api, request, response, { sentAt, now: this.#world.now() })
        // A request from outside the group has no member.
        const isMember = api !== 'OffsetCommit' || (request as RequestOf<'OffsetCommit'>).memberId !== ''
        if (isMember) this.#answered(api, response)
      },
      unanswered: (api, _request: RequestOf<KafkaApi>, error) => {
        court.note(this.name, () => `gets no answer to ${api}: ${error.message}`)
        if (api === 'OffsetCommit') court.reach('commit: its answer is lost')
        if (api === 'Produce') court.reach('publish: its answer is lost')
        if (program.isCalm && api === 'Heartbeat' && this.state === 'LIVING')
          court.violate('L3', `${this.name} loses a heartbeat though nothing fails`)
      },
    }
  }

  #answered(api: KafkaApi, response: ResponseOf<KafkaApi>): void {
    const { court, program } = this.#world
    if (api !== 'Heartbeat' && api !== 'OffsetCommit') return
    const codes =
      'errorCode' in response
        ? [response.errorCode]
        : (response as ResponseOf<'OffsetCommit'>).topics.flatMap(({ partitions }) =>
            partitions.map((one) => one.errorCode),
          )
    for (const code of new Set(codes)) {
      if (code === 0) continue
      const name = errorName(code)
      if (api === 'OffsetCommit') court.reach('commit: it is refused')
      if (name === 'FENCED_INSTANCE_ID') court.reach('group: a static member is fenced')
      if (name !== 'UNKNOWN_MEMBER_ID') continue
      court.reach('group: a member learns that it was expelled')
      if (program.isCalm) court.violate('L3', `${this.name} was expelled though nothing fails`)
    }
  }
}
