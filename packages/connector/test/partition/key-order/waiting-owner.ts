import { nextTier } from '@waybill/core'
import { noopMetrics } from '@waybill/core/internal'
import type { Consumer, KafkaClient, KafkaRecord } from '@waybill/kafka'
import type { KafkaTransport } from '@waybill/kafka/wire'
import type { SimCluster, VirtualRuntime } from '@waybill/sim'
import { intercepted } from '@waybill/test-support/kafka'
import { BindingTelemetry } from '../../../src/binding/binding-telemetry.ts'
import type { ResolvedBinding } from '../../../src/binding/resolved-binding.ts'
import { decideOutcome } from '../../../src/delivery/decide-outcome.ts'
import type { Delivery } from '../../../src/delivery/delivery.ts'
import type { DeliveryScope } from '../../../src/delivery/delivery-scope.ts'
import type { Outcome } from '../../../src/delivery/outcome.ts'
import { verifyReplay } from '../../../src/delivery/verify-replay.ts'
import type { Work } from '../../../src/delivery/work.ts'
import { CommitLoop } from '../../../src/group/commit-loop.ts'
import { containerPlacesOf } from '../../../src/options/container-places.ts'
import { KeyOrderedWorker } from '../../../src/partition/key-order/key-ordered-worker.ts'
import type { WorkerDeps } from '../../../src/partition/partition-worker.ts'
import { slotsFor } from '../../../src/partition/slots.ts'
import { createDerivedPublisher } from '../../../src/records/derived-publisher.ts'
import { OriginalReader } from '../../../src/records/original-reader.ts'
import { readPage } from '../../../src/records/read-record.ts'
import type { HandledHistory, Via } from './handled-history.ts'
import { groupId, place } from './waiting-place.ts'

/** Where an owner lives. */
export interface OwnerWorld {
  readonly sim: SimCluster
  readonly runtime: VirtualRuntime
  readonly binding: ResolvedBinding
  readonly history: HandledHistory
  /** The owner that was told last that the partition is its own. */
  current: WaitingOwner | undefined
  /** Milliseconds that a handler takes. */
  handlerMs: () => number
  client(name: string, transport: KafkaTransport): KafkaClient
}

/** What a test may do to a delivery before its handler is called. */
export type Meddle = (work: Work) => Outcome | undefined

/** One process: a client, a member of the group, and the worker of the partition while it is assigned. */
export class WaitingOwner {
  readonly name: string
  readonly failures: unknown[] = []
  readonly problems: string[] = []
  readonly client: KafkaClient
  worker: KeyOrderedWorker | undefined
  meddle: Meddle = () => undefined
  isRefusing = false
  readonly #world: OwnerWorld
  readonly #consumer: Consumer
  readonly #commits: CommitLoop
  #isDead = false
  #isStopping = false
  #polling: Promise<void> | undefined

  constructor(world: OwnerWorld, name: string) {
    this.name = name
    this.#world = world
    this.client = world.client(name, this.#mortal(world.sim.transport(name)))
    this.#consumer = this.client.consumer({
      groupId,
      topics: [place.source.topic],
      sessionTimeoutMs: 9_000,
      heartbeatIntervalMs: 1_000,
      companion: () => place.waiting.topic,
      onAssigned: (_, epoch) => this.#assigned(epoch),
      onRevoking: (_, deadlineMs) => this.#revoking(deadlineMs),
      onLost: () => this.#lost(),
      onPositionLost: ({ topic, continuesAt }) => {
        if (continuesAt !== null) this.worker?.positionLost(continuesAt, topic)
      },
    })
    const workers = (): KeyOrderedWorker[] => (this.worker === undefined ? [] : [this.worker])
    const fail = (error: unknown): void => void this.failures.push(error)
    this.#commits = new CommitLoop(world.runtime, (offsets) => this.#consumer.commit(offsets), workers, fail)
  }

  get isAlive(): boolean {
    return !this.#isDead && !this.#isStopping
  }

  /** Never rejects: a process that finds no cluster tries again. */
  async start(): Promise<void> {
    for (;;) {
      try {
        await this.#consumer.start()
        break
      } catch {
        await this.#world.runtime.timers.sleep(1_000)
      }
    }
    this.#polling = this.#poll()
  }

  /** Drains, commits and leaves. */
  async stop(): Promise<void> {
    if (!this.isAlive) return
    this.#isStopping = true
    await this.#consumer.stop({ deadlineMs: 20_000 })
    await this.#polling
    this.#commits.close()
    await this.client.close()
  }

  /** As `kill -9`: what was sent may arrive, and nothing is heard or done any more. */
  kill(): void {
    this.#isDead = true
    this.worker?.lose()
    this.worker = undefined
    this.#commits.close()
    const { sim } = this.#world
    sim.cut({ client: this.name })
    for (const { memberId, clientId } of sim.group(groupId).members)
      if (clientId === this.name) sim.expireMember(groupId, memberId)
  }

  /** The group believes it dead; it does not know yet. */
  expel(): void {
    const { sim } = this.#world
    for (const { memberId, clientId } of sim.group(groupId).members)
      if (clientId === this.name) sim.expireMember(groupId, memberId)
  }

  #mortal(transport: KafkaTransport): KafkaTransport {
    const never = new Promise<never>(() => {})
    const watched = intercepted(transport, async (_api, _request, pass) => {
      if (this.#isDead) return never
      const answer = await pass()
      return this.#isDead ? never : answer
    })
    return { connect: (...given) => (this.#isDead ? never : watched.connect(...given)) }
  }

  async #poll(): Promise<void> {
    while (this.isAlive) {
      let records: KafkaRecord[]
      try {
        records = await this.#consumer.poll(50, 100)
      } catch (error) {
        if (this.isAlive) this.failures.push(error)
        return
      }
      if (this.#isDead) return
      this.worker?.accept(records)
      this.worker?.polled()
      this.#commits.tick()
    }
  }

  async #assigned(epoch: number): Promise<void> {
    if (this.#isDead) return
    this.#world.current = this
    this.worker = new KeyOrderedWorker(this.#deps(epoch))
    await this.worker.open()
  }

  async #revoking(deadlineMs: number): Promise<void> {
    const { worker } = this
    if (worker === undefined) return
    await worker.drain(deadlineMs * 0.7)
    await this.#commits.flush([worker], deadlineMs * 0.25)
    this.worker = undefined
  }

  #lost(): void {
    this.worker?.lose()
    this.worker = undefined
  }

  #deps(epoch: number): WorkerDeps {
    const { binding, runtime, history } = this.#world
    const [container] = containerPlacesOf(binding)
    if (container === undefined) throw new Error('A binding has a container.')
    return {
      binding,
      place: container,
      partition: 0,
      epoch,
      consumer: this.#consumer,
      client: this.client,
      delivery: this.#delivery(epoch),
      publisher: createDerivedPublisher(this.client.producer('DEAD_LETTER'), runtime),
      slots: slotsFor(binding),
      telemetry: new BindingTelemetry(binding, noopMetrics),
      consumerInstance: `${this.name}-0`,
      runtime,
      deadLettered: ({ work }) => void history.dead.add(Number(work.trail.original.offset)),
      changed: () => this.#commits.request(),
      unaccounted: (problem) => void this.problems.push(problem),
      pauseBinding: () => {},
      fail: (error) => void this.failures.push(error),
    }
  }

  #delivery(epoch: number): Delivery {
    const isRefusing = (): boolean => this.isRefusing
    return {
      get isRefusing() {
        return isRefusing()
      },
      deliver: (work: Work, scope: DeliveryScope) => this.#deliver(work, scope, epoch),
      verify: (work: Work, scope: DeliveryScope) =>
        verifyReplay(work, scope, {
          readOriginal: new OriginalReader((...read) => readPage(this.client, ...read), this.#world.runtime.timers)
            .read,
          runtime: this.#world.runtime,
        }),
    } as unknown as Delivery
  }

  async #deliver(work: Work, scope: DeliveryScope, epoch: number): Promise<Outcome> {
    const { history, runtime, binding } = this.#world
    const meddled = this.meddle(work)
    if (meddled !== undefined) return meddled
    if (scope.retrying.aborted) return { kind: 'PAUSE', cause: 'CANCELLED', failure: undefined }
    const offset = Number(work.trail.original.offset)
    const via: Via = work.kind === 'SOURCE' ? 'SOURCE' : work.trail.replayCount > 0 ? 'REPLAY' : 'WAITING'
    const owner = `${this.name}/${epoch}`
    history.start(offset, via, owner, this.#isZombie(epoch))
    await runtime.timers.sleep(this.#world.handlerMs())
    if (this.#isDead) return new Promise(() => {})
    if (history.end(offset, via, owner, this.#isZombie(epoch))) return { kind: 'DONE' }
    const ended = { outcome: 'EXHAUSTED', error: new Error('not yet'), attempts: 1 } as Parameters<
      typeof decideOutcome
    >[0]
    return decideOutcome(
      ended,
      { tier: work.tier, attempt: work.trail.attempt },
      binding,
      nextTier,
      runtime.clock.now(),
    )
  }

  /** It was assigned the partition, and somebody else, or itself, was after that. */
  #isZombie(epoch: number): boolean {
    return this.#world.current !== this || this.worker?.epoch !== epoch
  }
}
