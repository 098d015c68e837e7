/**
 * One run of a binding, from a start to its stop: its containers and the parts they share.
 *
 *     breaker ──▶ pauses and resumes all containers        classifier, slots, delivery ──▶ used by all containers
 *     dead letter producer: belongs to the cluster, and outlives every run
 */

import type { Buffer } from 'node:buffer'
import {
  type CircuitBreaker,
  createCircuitBreaker,
  createExceptionClassifier,
  type Runtime,
  type Schemas,
} from '@waybill/core'
import { type CircuitEvent } from '@waybill/core/internal'
import { createPublisher, type KafkaClient } from '@waybill/kafka'
import { type EventPublisher } from '@waybill/kafka/internal'
import type { ContainerStatus, KeyState } from '../api/binding-view.ts'
import type { ContainerPlace } from '../api/container-place.ts'
import type { CircuitFigures, PausedRecord } from '../api/control.ts'
import type { BatchHandler } from '../api/handler-types.ts'
import { isBatchHandler } from '../api/is-batch-handler.ts'
import type { PauseReason } from '../api/pause-reason.ts'
import { BindingTelemetry } from '../binding/binding-telemetry.ts'
import { reportCircuit } from '../binding/circuit-report.ts'
import type { ResolvedBinding } from '../binding/resolved-binding.ts'
import { BatchDelivery } from '../delivery/batch-delivery.ts'
import { BatchDecoding } from '../delivery/decode-batch.ts'
import { createDeduplication, type Deduplication } from '../delivery/deduplicate.ts'
import { markingHandler, StoredRepeats } from '../delivery/deduplicate-batch.ts'
import { Delivery } from '../delivery/delivery.ts'
import { BindingContainers, type ContainerHandle } from '../group/binding-containers.ts'
import { Container } from '../group/container.ts'
import type { ContainerDeps, ContainerEvent } from '../group/container-deps.ts'
import { catalogOf, createInvocation } from '../handlers/invocation.ts'
import { createOutputPublishing } from '../handlers/output-publisher.ts'
import { createValueDecoder } from '../handlers/value-decoder.ts'
import { partsOf } from '../options/binding-options.ts'
import { KeyOrderedWorker } from '../partition/key-order/key-ordered-worker.ts'
import { LaneWorker } from '../partition/lanes/lane-worker.ts'
import type { PartitionWorker, WorkerDeps } from '../partition/partition-worker.ts'
import { type Slots, slotsFor } from '../partition/slots.ts'
import { TransactionWorker } from '../partition/transaction/transaction-worker.ts'
import { createDeadLetterAlert } from '../records/dead-letter-alert.ts'
import type { DerivedPublisher } from '../records/derived-publisher.ts'
import { OriginalReader } from '../records/original-reader.ts'
import { readPage } from '../records/read-record.ts'
import { createReplaySchedule } from '../replay/create-replay-schedule.ts'
import type { ReplaySchedule } from '../replay/replay-schedule.ts'
import { searchOn } from '../topics/topic-search.ts'

/** Creates containers. Tests pass one that creates scripted containers. */
export type ContainerFactory = (deps: ContainerDeps) => ContainerHandle

/** The topics of a binding that selects them by a regular expression. */
export interface FoundTopics {
  /** Returns the binding once for each discovered topic. */
  parts(): readonly ResolvedBinding[]
  /** Discovers new topics, and returns those that no longer exist. Rejects when the cluster does not answer. */
  discover(signal: AbortSignal): Promise<readonly string[]>
  /** Removes topics that are no longer read. */
  forget(topics: readonly string[]): void
}

/** The dependencies of a run. */
export interface BindingRunDeps {
  /** The options that all its topics share. */
  readonly binding: ResolvedBinding
  /** @defaultValue the topics that the binding lists */
  readonly topics?: FoundTopics
  readonly client: KafkaClient
  readonly publisher: DerivedPublisher
  readonly runtime: Runtime
  /** The name of this host in member ids and headers. */
  readonly instance: string
  readonly createContainer?: ContainerFactory
  /** Pauses the binding, which in turn pauses the run. */
  readonly hold: (reason: PauseReason) => void
  readonly release: (reason: PauseReason) => void
  readonly onEvent: (event: ContainerEvent, place: ContainerPlace) => void
}

/** One run of a binding. */
export class BindingRun {
  readonly breaker: CircuitBreaker
  readonly #deps: BindingRunDeps
  readonly #slots: Slots
  /** The publisher that handlers use. */
  readonly #events: EventPublisher<Schemas>
  readonly #containers: BindingContainers
  /** Replays dead letters periodically. */
  readonly #replays: ReplaySchedule | undefined
  readonly #searching = new AbortController()
  readonly #subscription: Disposable
  /** The monotonic time at which the breaker makes its next probe possible. */
  #nextProbeAt: number | undefined
  #stopped: Promise<void> | undefined

  constructor(deps: BindingRunDeps) {
    const { binding, runtime, createContainer = (of) => new Container(of) } = deps
    this.#deps = deps
    this.breaker = createCircuitBreaker(binding.name, binding.circuitBreaker, runtime)
    this.#subscription = this.breaker.subscribe((event) => this.#onBreaker(event))
    this.#slots = slotsFor(binding, runtime.clock)
    this.#events = createPublisher(deps.client, catalogOf(binding.handler), { runtime })
    const shared = this.#createShared()
    const alert = createDeadLetterAlert(binding.deadLetter, runtime)
    this.#containers = new BindingContainers((part, place) =>
      createContainer({
        ...shared,
        binding: part,
        place,
        onEvent: (event) => {
          if (event.type === 'DEAD_LETTERED') {
            shared.telemetry.deadLettered(place.topic, event.letter.outcome.reason)
            alert(event.letter.written)
          }
          deps.onEvent(event, place)
        },
      }),
    )
    const parts = (): readonly ResolvedBinding[] => deps.topics?.parts() ?? partsOf(binding)
    for (const part of parts()) this.#containers.add(part)
    this.#replays = createReplaySchedule(deps, parts)
  }

  /** Starts the containers of every topic. When one fails or the signal aborts, the run is stopped. */
  async start(signal: AbortSignal): Promise<void> {
    const aborted = Promise.withResolvers<never>()
    const abort = (): void => aborted.reject(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
    try {
      await Promise.race([this.#containers.start(signal), aborted.promise])
      signal.throwIfAborted()
      this.#search()
      this.#replays?.start()
    } catch (error) {
      await this.stop({ deadlineMs: this.#deps.binding.shutdownTimeoutMs })
      throw error
    } finally {
      signal.removeEventListener('abort', abort)
    }
  }

  /** Stops all containers at once. Never rejects; a second call waits for the first. */
  stop(options: { readonly deadlineMs: number; readonly leave?: boolean }): Promise<void> {
    return (this.#stopped ??= this.#stopAll(options))
  }

  pause(reason: PauseReason): void {
    this.#containers.pause(reason)
    this.#replays?.pause(reason)
  }

  resume(reason: PauseReason): void {
    this.#containers.resume(reason)
    this.#replays?.resume(reason)
  }

  pauseTier(tier: number): void {
    this.#containers.pauseTier(tier)
  }

  resumeTier(tier: number): void {
    this.#containers.resumeTier(tier)
  }

  condemn(topic: string, record: PausedRecord): boolean {
    return this.#containers.condemn(topic, record)
  }

  /** See {@link BindingContainers.keyState}. */
  keyState(topic: string, partition: number, key: Buffer): KeyState | undefined {
    return this.#containers.keyState(topic, partition, key)
  }

  status(): readonly ContainerStatus[] {
    return this.#containers.status()
  }

  /** The number of running handlers; after a stop, those that ignore their abort signal. */
  get running(): number {
    return this.#slots.taken
  }

  /** The time in which at least one handler ran. */
  get busyMs(): number {
    return this.#slots.busyMs
  }

  #createShared(): Omit<ContainerDeps, 'place' | 'onEvent'> {
    const { binding, client, publisher, runtime, instance } = this.#deps
    const telemetry = new BindingTelemetry(binding, runtime.metrics)
    const classifier = createExceptionClassifier(binding.exceptions, runtime.logger)
    const context = {
      bindingName: binding.name,
      groupId: binding.groupId,
      logger: runtime.logger,
      clock: runtime.clock,
      publisher: this.#events,
      publishInto:
        binding.transactional === false ? undefined : createOutputPublishing(catalogOf(binding.handler), runtime),
    }
    const deduplication = createDeduplication(binding)
    const originals = new OriginalReader((...read) => readPage(client, ...read), runtime.timers)
    const delivery = new Delivery({
      binding,
      invocation: createInvocation(binding, runtime.logger.child({ binding: binding.name })),
      deduplication,
      readOriginal: originals.read,
      context,
      breaker: this.breaker,
      classifier,
      telemetry,
      runtime,
    })
    const { handler } = binding
    return {
      binding,
      client,
      publisher,
      runtime,
      delivery,
      batchDelivery: isBatchHandler(handler)
        ? batchDeliveryOf(delivery, handler, binding, deduplication, runtime)
        : undefined,
      telemetry,
      slots: this.#slots,
      host: binding.instanceId ?? instance,
      createWorker,
    }
  }

  /** Starts topics that match later and stops deleted ones, until the run ends. A failure never fails the run. */
  #search(): void {
    const { binding, topics, runtime } = this.#deps
    if (topics === undefined) return
    const { signal } = this.#searching
    let missing: readonly string[] = []
    const discover = async (): Promise<void> => {
      const gone = await topics.discover(signal)
      // A restarted broker may not know all topics yet, so a topic must be missing twice.
      const twice = gone.filter((topic) => missing.includes(topic))
      missing = gone
      await this.#leave(twice)
      for (const part of topics.parts())
        if (!this.#containers.has(part.topic)) await this.#containers.startTopic(part, signal)
    }
    void searchOn(binding, discover, runtime, signal)
  }

  async #leave(gone: readonly string[]): Promise<void> {
    const { binding, topics, runtime } = this.#deps
    for (const topic of gone) {
      runtime.logger.warn({ binding: binding.name, topic }, 'Topic deleted; it and its tiers are no longer read')
      await this.#containers.stopTopic(topic, { deadlineMs: binding.shutdownTimeoutMs })
    }
    topics?.forget(gone)
  }

  async #stopAll(options: { readonly deadlineMs: number; readonly leave?: boolean }): Promise<void> {
    const { clock } = this.#deps.runtime
    const endsAt = clock.monotonic() + options.deadlineMs
    this.#searching.abort()
    await Promise.all([this.#containers.stop(options), this.#replays?.stop(options.deadlineMs)])
    await this.#closeEvents(Math.max(0, endsAt - clock.monotonic()))
    this.#subscription[Symbol.dispose]()
    this.breaker.stop()
  }

  /** Waits for events that handlers published without awaiting the result. */
  async #closeEvents(withinMs: number): Promise<void> {
    const { binding, runtime } = this.#deps
    const waiting = new AbortController()
    const timeUp = runtime.timers.sleep(withinMs, waiting.signal).then(
      () => runtime.logger.warn({ binding: binding.name }, 'Events of handlers not confirmed before the stop deadline'),
      () => {}, // The publisher closed first.
    )
    const closing = this.#events.close().catch((err: unknown) => {
      runtime.logger.warn({ err, binding: binding.name }, 'Publisher not closed')
    })
    await Promise.race([closing, timeUp])
    waiting.abort()
  }

  /** The counts of the breaker, and the time until its next probe. */
  get circuit(): CircuitFigures {
    const at = this.#nextProbeAt
    const nextProbeInMs = at === undefined ? undefined : Math.max(0, at - this.#deps.runtime.clock.monotonic())
    return { ...this.breaker.rates, nextProbeInMs }
  }

  /**
   * Pauses the binding when the circuit opens and resumes it with every other event: a rejected record waits for a
   * resume, which a returned permit and a closed circuit must trigger too.
   */
  #onBreaker(event: CircuitEvent): void {
    const { binding, runtime, hold, release } = this.#deps
    if (event.type === 'STATE_CHANGED') {
      const waitMs = binding.circuitBreaker.waitDurationInOpenStateMs
      this.#nextProbeAt = event.to === 'OPEN' ? runtime.clock.monotonic() + waitMs : undefined
      reportCircuit(binding, runtime, event)
    }
    if (!binding.circuitBreaker.automaticPauseOnOpen) return
    if (event.type === 'STATE_CHANGED' && event.to === 'OPEN') hold('BREAKER')
    else release('BREAKER')
  }
}

function createWorker(deps: WorkerDeps): PartitionWorker {
  if (deps.binding.transactional !== false) return new TransactionWorker(deps)
  return deps.binding.waitingTopic === undefined ? new LaneWorker(deps) : new KeyOrderedWorker(deps)
}

function batchDeliveryOf(
  delivery: Delivery,
  handler: BatchHandler,
  binding: ResolvedBinding,
  deduplication: Deduplication | undefined,
  { clock, timers }: Pick<Runtime, 'clock' | 'timers'>,
): BatchDelivery {
  const limit = { handlerTimeoutMs: binding.handlerTimeoutMs, timers }
  const decoding = binding.decode && new BatchDecoding(createValueDecoder(binding.decode), limit)
  const decoded = decoding?.wrap(handler) ?? handler
  if (deduplication?.kind !== 'STORE') return new BatchDelivery(delivery, decoded, binding, clock, { decoding })
  const { marks } = deduplication
  const repeats = new StoredRepeats(marks, limit)
  return new BatchDelivery(delivery, markingHandler(decoded, marks), binding, clock, { repeats, decoding })
}
