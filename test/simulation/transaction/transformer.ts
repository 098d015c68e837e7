/** A process with a connector whose one binding is transactional. */

import { type Connector, createConnector, type DeliveryContext } from '@waybill/connector'
import { isWaybillError } from '@waybill/core'
import type { KafkaClient, KafkaRecord } from '@waybill/kafka'
import type { Station } from '../world/cluster-world.ts'
import type { Worker } from '../world/crew.ts'
import { handle } from './handler.ts'
import { groupId, type PointPlan, sourceTopic, tierGroupId, topicBytes } from './program.ts'
import type { World } from './world.ts'

/** The name of the binding. */
export const bindingName = 'work'
/** How long a process waits before it retries a failed start. */
const startAgainMs = 400

/** The owner of the process. */
export interface Employer {
  /** False once everything is healed. */
  mayFail(): boolean
  /** Called when it has died. */
  died(): void
  /** Called when it is frozen and its last transaction is open. */
  misses(): void
  /** Called when it stops by itself. */
  leaves(transformer: Transformer): void
}

/** See the file's comment. */
export class Transformer implements Worker {
  readonly station: Station
  readonly #world: World
  readonly #employer: Employer
  #connector: Connector
  readonly #dead = Promise.withResolvers<undefined>()
  #isStarted = false
  #isOver = false
  #isPaused = false
  #running = 0
  /** Number of transactions that may be open, or committed without a response. */
  #open = 0
  #unanswered = 0

  constructor(world: World, name: string, employer: Employer) {
    this.#world = world
    this.#employer = employer
    this.station = world.station(name, world.witness(name))
    this.#connector = this.#create()
  }

  get isAlive(): boolean {
    return this.station.process.isAlive && !this.#isOver
  }

  /** True when it accepts commands. */
  get isStarted(): boolean {
    return this.isAlive && this.#isStarted
  }

  get connector(): Connector {
    return this.#connector
  }

  start(): void {
    void this.#run()
  }

  kill(): void {
    const { court } = this.#world
    if (this.#open > 0) court.reach('kill: a transaction is open')
    if (this.#unanswered > 0) court.reach('kill: a transaction is committed and its response is lost')
    this.#isOver = true
    this.station.process.kill()
    this.#dead.resolve(undefined)
  }

  freeze(forMs: number): void {
    const { court, program } = this.#world
    if (this.#open > 0) court.reach('freeze: a transaction is open')
    if (forMs > program.sessionTimeoutMs) court.reach('freeze: it outlasts the session')
    this.station.process.freeze()
  }

  /** Stops it. Settles when it has stopped, or is killed meanwhile. */
  async stop(deadlineMs = 5_000): Promise<void> {
    const { court } = this.#world
    if (this.#running > 0) court.reach('stop: handlers run when it begins')
    if (this.#open > 0) court.reach('stop: a transaction is open when it begins')
    this.#isOver = true
    await Promise.race([this.#stop(deadlineMs), this.#dead.promise])
  }

  /** Runs an operation; returns undefined when it fails, or when the process dies meanwhile. */
  async ask<T>(work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await Promise.race([work(), this.#dead.promise])
    } catch (error) {
      this.#check(error)
      return undefined
    }
  }

  /** Pauses the binding. From then until it is resumed or stopped, no handler may start (I15). */
  async pause(): Promise<void> {
    await this.ask(async () => {
      await this.#connector.pause(bindingName)
      this.#isPaused = true
      if (this.#open > 0) this.#world.court.reach('pause: an operator pauses while a transaction is open')
    })
  }

  async resume(): Promise<void> {
    this.#isPaused = false
    await this.ask(() => this.#connector.resume(bindingName))
  }

  /** Makes the binding leave its groups; the process continues without it. */
  async leaveGroups(): Promise<void> {
    await this.ask(() => this.#connector.stop(bindingName))
    this.#isPaused = false
  }

  /** Retries until the binding runs, or the process stops. */
  async comeBack(): Promise<void> {
    while (this.isStarted) {
      const [view] = this.#connector.listBindings()
      const isPaused = view?.pausedBy.includes('OPERATOR') === true
      if (view?.state === 'RUNNING' || (view?.state === 'PAUSED' && !isPaused)) return
      this.#isPaused = false
      const isDone = await this.ask(async () => {
        await (isPaused ? this.#connector.resume(bindingName) : this.#connector.start(bindingName))
        return true
      })
      if (isDone === true) return
      await this.ask(() => this.station.process.runtime.timers.sleep(startAgainMs))
    }
  }

  async #stop(deadlineMs: number): Promise<void> {
    await this.#connector.stop({ deadlineMs }).catch((error: unknown) => this.#check(error))
    await this.station.client.close().catch(() => {})
  }

  #create(): Connector {
    const { program } = this.#world
    const { process } = this.station
    const { transactional, maxAhead, sessionTimeoutMs, handlerTimeoutMs } = program
    return createConnector({
      administration: { auditLog: { write: () => {} }, permits: () => true },
      clusters: { default: this.#hurried() },
      runtime: { ...process.runtime, failpoint: (point) => this.#at(point) },
      derivedTopics: 'ASSUME',
      instance: process.name,
      bindings: {
        [bindingName]: {
          topic: sourceTopic,
          groupId,
          transactional,
          maxAhead,
          sessionTimeoutMs,
          handlerTimeoutMs,
          heartbeatIntervalMs: Math.floor(sessionTimeoutMs / 4),
          shutdownTimeoutMs: 2_000,
          maxPollRecords: 20,
          circuitBreaker: { enabled: false },
          retry: { tier0: { maxAttempts: 2, initialBackoffMs: 1 }, tiers: [{ delayMs: 200, maxAttempts: 1 }] },
          filter: ({ value }) => this.#world.planOf(String(value)).fate !== 'SKIPPED',
          handler: (record, context) => this.#handle(record, context),
        },
      },
    })
  }

  #hurried(): KafkaClient {
    const { client } = this.station
    const times = { requestTimeoutMs: 800, maxWaitMs: 100, metadataRefreshMs: 1_000, rebalanceTimeoutMs: 4_000 }
    const bounds = this.#world.program.tooLargeFor === 'CLIENT' ? { maxRecordBytes: topicBytes } : {}
    return {
      ...client,
      consumer: (options) => client.consumer({ ...options, ...times }),
      transactionalProducer: (id, options) => client.transactionalProducer(id, { ...options, ...bounds }),
    }
  }

  async #handle({ topic, partition, offset, value }: KafkaRecord, context: DeliveryContext): Promise<void> {
    const { calls, court } = this.#world
    const { process } = this.station
    const plan = this.#world.planOf(String(value))
    if (this.#world.booksOf(topic)[partition]?.isPassedOver(offset) === true)
      court.violate('I1', `${process.name} handles ${topic}-${partition}@${offset}, which an operator has passed over`)
    if (this.#isPaused && context.attempt === 1)
      court.violate('I15', `${process.name} is paused and begins with ${plan.value}`)
    if (context.tier === 0) calls.set(plan.value, (calls.get(plan.value) ?? 0) + 1)
    this.#running++
    try {
      await handle({ world: this.#world, process }, plan, context)
    } finally {
      this.#running--
    }
  }

  async #run(): Promise<void> {
    while (this.isAlive) {
      try {
        await this.#connector.start()
        this.#isStarted = true
        return
      } catch (error) {
        this.#check(error)
        await this.station.process.runtime.timers.sleep(startAgainMs)
        if (this.isAlive) this.#connector = this.#create()
      }
    }
  }

  #at(point: string): void | Promise<void> {
    if (point === 'transaction.begun') this.#open++
    if (point === 'transaction.committed') this.#unanswered++
    if (point === 'assign.end' && this.#isPaused)
      this.#world.court.reach('pause: a paused process is given a partition')
    const plan = this.#employer.mayFail() ? this.#world.program.points.find(({ name }) => name === point) : undefined
    const isHit = plan !== undefined && this.isAlive && this.#world.draw.chance(plan.rate)
    const hit = isHit ? this.#hit(plan) : undefined
    if (point === 'transaction.committed') {
      this.#open = Math.max(0, this.#open - 1)
      if (hit === undefined) this.#unanswered = Math.max(0, this.#unanswered - 1)
    }
    return hit
  }

  #hit({ kind, name }: PointPlan): Promise<void> {
    const { draw, program, court, runtime } = this.#world
    const { process } = this.station
    court.note('chaos', () => `${kind} of ${process.name} at ${name}`)
    const forMs = draw.msOfMagnitude(50, 3 * program.sessionTimeoutMs)
    switch (kind) {
      case 'EXPEL':
        this.#expel()
        return process.runtime.timers.sleep(draw.chance(0.5) ? 0 : Math.min(forMs, 2_000))
      case 'DELAY':
        return process.runtime.timers.sleep(Math.min(forMs, 2_000))
      case 'STOP':
        this.#employer.leaves(this)
        // The process executes its next step while it stops.
        return process.runtime.timers.sleep(draw.pick([0, 1, 50]))
      case 'KILL':
        this.kill()
        this.#employer.died()
        return new Promise(() => {})
      case 'FREEZE': {
        // Before the end of a transaction it wakes up about when another process takes over: that is when it can do
        // harm.
        const isAtTheEnd = name === 'transaction.sent'
        const frozenMs = isAtTheEnd ? program.sessionTimeoutMs + draw.ms(0, 1_500) : forMs
        if (isAtTheEnd) this.#employer.misses()
        this.freeze(frozenMs)
        runtime.timers.schedule(frozenMs, () => process.thaw())
        // A frozen process continues with its next timer.
        return process.runtime.timers.sleep(0)
      }
    }
  }

  /** Makes the coordinator expel it while it continues. */
  #expel(): void {
    const { cluster, court } = this.#world
    for (const group of [groupId, tierGroupId])
      for (const { memberId, clientId } of cluster.group(group).members) {
        if (clientId !== this.station.process.name) continue
        cluster.expireMember(group, memberId)
        if (this.#open > 0) court.reach('group: a member is expelled in a transaction')
      }
  }

  #check(error: unknown): void {
    const { court } = this.#world
    court.note(this.station.process.name, () => String(error))
    if (!isWaybillError(error)) court.violate('RUN', `${this.station.process.name}: ${String(error)}`)
  }
}
