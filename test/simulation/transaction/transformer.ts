/** A process with a connector whose one binding is transactional. */

import { Buffer } from 'node:buffer'
import { isWaybillError, NonRetryableError } from '@waybill/core'
import {
  type Connector,
  createConnector,
  type DeliveryContext,
  type KafkaClient,
  type KafkaRecord,
} from '@waybill/kafka'
import { failedOutputOf, outputsOf } from './judge-logs.ts'
import { groupId, outputTopic, type PointPlan, type RecordPlan, sourceTopic, tierGroupId } from './program.ts'
import type { Station, World } from './world.ts'

/** How long a process that could not start waits before it tries again. */
const startAgainMs = 400

/** See the file's comment. */
export class Transformer {
  readonly station: Station
  readonly #world: World
  readonly #plans: ReadonlyMap<string, RecordPlan>
  readonly #died: () => void
  readonly #mayFail: () => boolean
  #connector: Connector
  readonly #dead = Promise.withResolvers<void>()
  #isOver = false
  #running = 0
  /** A transaction of it may be open; committed and not told. */
  #open = 0
  #untold = 0

  /**
   * @param died - is told that the process has died, and sees to another one
   * @param mayFail - false once everything is healed
   */
  constructor(world: World, name: string, died: (transformer: Transformer) => void, mayFail: () => boolean) {
    this.#world = world
    this.#died = () => died(this)
    this.#mayFail = mayFail
    this.#plans = new Map(world.program.records.map((plan) => [plan.value, plan]))
    this.station = world.station(name)
    this.#connector = this.#create()
  }

  get isAlive(): boolean {
    return this.station.process.isAlive && !this.#isOver
  }

  start(): void {
    void this.#run()
  }

  kill(): void {
    const { court } = this.#world
    if (this.#open > 0) court.reach('kill: a transaction is open')
    if (this.#untold > 0) court.reach('kill: a transaction is committed and nobody was told')
    this.#isOver = true
    this.station.process.kill()
    this.#dead.resolve()
  }

  freeze(forMs: number): void {
    const { court, program } = this.#world
    if (this.#open > 0) court.reach('freeze: a transaction is open')
    if (forMs > program.sessionTimeoutMs) court.reach('freeze: it outlasts the session')
    this.station.process.freeze()
  }

  /** Settles when it has stopped, or is killed meanwhile. */
  async stop(): Promise<void> {
    const { court } = this.#world
    if (this.#running > 0) court.reach('stop: handlers run when it begins')
    this.#isOver = true
    await Promise.race([this.#stop(), this.#dead.promise])
  }

  async #stop(): Promise<void> {
    await this.#connector.stop({ deadlineMs: 5_000 }).catch((error: unknown) => this.#check(error))
    await this.station.client.close().catch(() => {})
  }

  #create(): Connector {
    const { program } = this.#world
    const { process } = this.station
    const { transactional, maxAhead, sessionTimeoutMs } = program
    return createConnector({
      clusters: { default: this.#hurried() },
      runtime: { ...process.runtime, failpoint: (point) => this.#at(point) },
      derivedTopics: 'ASSUME',
      instance: process.name,
      bindings: {
        work: {
          topic: sourceTopic,
          groupId,
          transactional,
          maxAhead,
          sessionTimeoutMs,
          heartbeatIntervalMs: Math.floor(sessionTimeoutMs / 4),
          shutdownTimeoutMs: 2_000,
          maxPollRecords: 20,
          circuitBreaker: { enabled: false },
          retry: { tier0: { maxAttempts: 2, initialBackoffMs: 1 }, tiers: [{ delayMs: 200, maxAttempts: 1 }] },
          filter: (record) => this.#planOf(record).fate !== 'SKIPPED',
          handler: (record, context) => this.#handle(record, context),
        },
      },
    })
  }

  #hurried(): KafkaClient {
    const { client } = this.station
    const times = { requestTimeoutMs: 800, maxWaitMs: 100, metadataRefreshMs: 1_000, rebalanceTimeoutMs: 4_000 }
    return { ...client, consumer: (options) => client.consumer({ ...options, ...times }) }
  }

  #planOf({ value }: KafkaRecord): RecordPlan {
    return this.#plans.get(String(value)) as RecordPlan
  }

  async #handle(record: KafkaRecord, context: DeliveryContext): Promise<void> {
    const world = this.#world
    const { draw, program } = world
    const plan = this.#planOf(record)
    const isFailing =
      plan.fate === 'DEAD' ||
      (plan.fate === 'LATER' && context.tier === 0) ||
      (plan.fate === 'FLAKY' && context.attempt === 1)
    this.#running++
    if (context.tier === 0) world.calls.set(plan.value, (world.calls.get(plan.value) ?? 0) + 1)
    try {
      const texts = isFailing ? [failedOutputOf(plan)] : outputsOf(plan)
      for (const text of texts) {
        if (program.handleMs > 0) await this.station.process.runtime.timers.sleep(draw.between(0, program.handleMs))
        context.send({ topic: outputTopic, key: Buffer.from(plan.value), value: Buffer.from(text) })
      }
    } finally {
      this.#running--
    }
    if (plan.fate === 'DEAD') throw new NonRetryableError(plan.value)
    if (isFailing) throw new Error(plan.value)
  }

  async #run(): Promise<void> {
    while (this.isAlive) {
      try {
        return await this.#connector.start()
      } catch (error) {
        this.#check(error)
        await this.station.process.runtime.timers.sleep(startAgainMs)
        if (this.isAlive) this.#connector = this.#create()
      }
    }
  }

  #at(point: string): void | Promise<void> {
    if (point === 'transaction.begun') this.#open++
    if (point === 'transaction.committed') this.#untold++
    const plan = this.#mayFail() ? this.#world.program.points.find(({ name }) => name === point) : undefined
    const isHit = plan !== undefined && this.#world.draw.chance(plan.rate)
    const hit = isHit ? this.#hit(plan) : undefined
    if (point === 'transaction.committed') {
      this.#open = Math.max(0, this.#open - 1)
      if (hit === undefined) this.#untold = Math.max(0, this.#untold - 1)
    }
    return hit
  }

  #hit({ kind, name }: PointPlan): Promise<void> {
    const { draw, program, court, runtime } = this.#world
    const { process } = this.station
    court.note('chaos', () => `${kind} of ${process.name} at ${name}`)
    const forMs = draw.msOfMagnitude(50, 3 * program.sessionTimeoutMs)
    if (kind === 'EXPEL') this.#expel()
    if (kind === 'EXPEL' && draw.chance(0.5)) return process.runtime.timers.sleep(0)
    if (kind === 'DELAY' || kind === 'EXPEL') return process.runtime.timers.sleep(Math.min(forMs, 2_000))
    if (kind === 'KILL') {
      this.kill()
      this.#died()
      return new Promise(() => {})
    }
    // Before the end of a transaction it wakes up about when somebody else takes over: that is when it can do harm.
    const isAtTheEnd = name === 'transaction.sent'
    const frozenMs = isAtTheEnd ? program.sessionTimeoutMs + draw.ms(0, 1_500) : forMs
    this.freeze(frozenMs)
    runtime.timers.schedule(frozenMs, () => process.thaw())
    // What is frozen goes on with its next timer.
    return process.runtime.timers.sleep(0)
  }

  /** The coordinator takes it for dead, while it goes on. */
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
