/**
 * One run of a binding, from a start to its stop: its containers and what they share (S0-061, S0-100, S0-195).
 *
 *     breaker ──▶ pauses and resumes all containers        classifier, slots, delivery ──▶ used by all containers
 *     dead letter producer: of the cluster, and longer lived than any run
 */

import {
  type CircuitBreaker,
  type CircuitEvent,
  createCircuitBreaker,
  createExceptionClassifier,
  type Runtime,
  type Schemas,
} from '@waybill/core'
import type { KafkaClient } from '../client/kafka-client.ts'
import { reportCircuit } from './circuit-report.ts'
import { Container, type ContainerStatus } from './container/container.ts'
import type { ContainerDeps, ContainerEvent } from './container/container-deps.ts'
import type { ContainerPlace } from './container/container-place.ts'
import { LaneWorker } from './container/lane-worker.ts'
import type { PartitionWorker, WorkerDeps } from './container/partition-worker.ts'
import { type Slots, slotsFor } from './container/slots.ts'
import { Delivery } from './delivery/delivery.ts'
import { catalogOf, createInvocation } from './handler/invocation.ts'
import { createPublisher, type EventPublisher } from './handler/publisher.ts'
import { containerPlacesOf } from './option/container-places.ts'
import type { ResolvedBinding } from './option/resolved-binding.ts'
import type { PauseReason } from './pause-reason.ts'
import { createDeadLetterAlert } from './record/dead-letter-alert.ts'
import type { DerivedPublisher } from './record/derived-publisher.ts'
import { BindingTelemetry } from './telemetry.ts'
import { KeyOrderedWorker } from './waiting/key-ordered-worker.ts'

/** What a run needs of a container. */
export type ContainerHandle = Pick<Container, 'start' | 'stop' | 'pause' | 'resume' | 'status'>

/** Makes containers: another one makes scripted ones for tests. */
export type ContainerFactory = (deps: ContainerDeps) => ContainerHandle

/** What a run stands on. */
export interface BindingRunDeps {
  readonly binding: ResolvedBinding
  readonly client: KafkaClient
  readonly publisher: DerivedPublisher
  readonly runtime: Runtime
  /** What this host is called in member ids and headers. */
  readonly instance: string
  readonly createContainer?: ContainerFactory
  /** Pauses the binding: the run is told in turn. */
  readonly hold: (reason: PauseReason) => void
  readonly release: (reason: PauseReason) => void
  readonly onEvent: (event: ContainerEvent, place: ContainerPlace) => void
}

/** See the file's comment. */
export class BindingRun {
  readonly breaker: CircuitBreaker
  readonly #deps: BindingRunDeps
  readonly #slots: Slots
  /** What handlers publish with. */
  readonly #events: EventPublisher<Schemas>
  readonly #containers: readonly ContainerHandle[]
  readonly #subscription: Disposable
  #stopped: Promise<void> | undefined

  constructor(deps: BindingRunDeps) {
    const { binding, runtime, createContainer = (of) => new Container(of) } = deps
    this.#deps = deps
    this.breaker = createCircuitBreaker(binding.name, binding.circuitBreaker, runtime)
    this.#subscription = this.breaker.subscribe((event) => this.#onBreaker(event))
    this.#slots = slotsFor(binding)
    this.#events = createPublisher(deps.client, catalogOf(binding.handler), { runtime })
    const shared = this.#createShared()
    const alert = createDeadLetterAlert(binding.deadLetter, runtime)
    this.#containers = containerPlacesOf(binding).map((place) =>
      createContainer({
        ...shared,
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
  }

  /** Starts source and tiers, one after the other. When one fails or the signal aborts, those before it are stopped. */
  async start(signal: AbortSignal): Promise<void> {
    const aborted = Promise.withResolvers<never>()
    const abort = (): void => aborted.reject(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
    try {
      await Promise.race([this.#startAll(signal), aborted.promise])
      signal.throwIfAborted()
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
    for (const container of this.#containers) container.pause(reason)
  }

  resume(reason: PauseReason): void {
    for (const container of this.#containers) container.resume(reason)
  }

  status(): readonly ContainerStatus[] {
    return this.#containers.map((container) => container.status())
  }

  /** Handlers that run now: after a stop, those that ignore their signal. */
  get running(): number {
    return this.#slots.taken
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
    }
    const invocation = createInvocation(binding.handler)
    const delivery = new Delivery({
      binding,
      invocation,
      context,
      breaker: this.breaker,
      classifier,
      telemetry,
      runtime,
    })
    return {
      binding,
      client,
      publisher,
      runtime,
      delivery,
      telemetry,
      slots: this.#slots,
      host: binding.instanceId ?? instance,
      createWorker,
    }
  }

  async #startAll(signal: AbortSignal): Promise<void> {
    for (const container of this.#containers) {
      if (signal.aborted || this.#stopped !== undefined) return
      await container.start()
    }
  }

  async #stopAll(options: { readonly deadlineMs: number; readonly leave?: boolean }): Promise<void> {
    const { clock } = this.#deps.runtime
    const endsAt = clock.monotonic() + options.deadlineMs
    await Promise.all(this.#containers.map((container) => container.stop(options)))
    await this.#closeEvents(Math.max(0, endsAt - clock.monotonic()))
    this.#subscription[Symbol.dispose]()
    this.breaker.stop()
  }

  /** What handlers published and did not wait for. Whoever did wait was told how it ended. */
  async #closeEvents(withinMs: number): Promise<void> {
    const { binding, runtime } = this.#deps
    const waiting = new AbortController()
    const timeUp = runtime.timers.sleep(withinMs, waiting.signal).then(
      () =>
        runtime.logger.warn({ binding: binding.name }, 'Not everything that handlers published was confirmed in time'),
      () => {}, // It was, and nobody waits any more.
    )
    const closing = this.#events.close().catch((err: unknown) => {
      runtime.logger.warn({ err, binding: binding.name }, 'Closing the publisher failed')
    })
    await Promise.race([closing, timeUp])
    waiting.abort()
  }

  /**
   * Whoever was turned away waits for a resume: also for one that comes with a returned permit, or with the circuit
   * closed after it has probed.
   */
  #onBreaker(event: CircuitEvent): void {
    const { binding, runtime, hold, release } = this.#deps
    if (event.type === 'STATE_CHANGED') reportCircuit(binding.name, runtime, event)
    if (!binding.circuitBreaker.automaticPauseOnOpen) return
    if (event.type === 'STATE_CHANGED' && event.to === 'OPEN') hold('BREAKER')
    else release('BREAKER')
  }
}

function createWorker(deps: WorkerDeps): PartitionWorker {
  return deps.binding.waitingTopic === undefined ? new LaneWorker(deps) : new KeyOrderedWorker(deps)
}
