/** Containers on a simulated cluster in virtual time, whose workers are scripted. */

import { noopMetrics } from '@waybill/core/internal'
import { createKafkaClient, type KafkaRecord } from '@waybill/kafka'
import { type OffsetCommit } from '@waybill/kafka/internal'
import { createSimCluster, createVirtualRuntime, type SimCluster, type VirtualRuntime } from '@waybill/sim'
import { eventually } from '@waybill/testkit'
import type { Binding } from '../../src/api/binding.ts'
import type { PartitionStatus } from '../../src/api/binding-view.ts'
import type { PauseReason } from '../../src/api/pause-reason.ts'
import { BindingTelemetry } from '../../src/binding/binding-telemetry.ts'
import { Container } from '../../src/group/container.ts'
import type { ContainerDeps, ContainerEvent } from '../../src/group/container-deps.ts'
import { resolveBinding } from '../../src/options/binding-options.ts'
import { containerPlacesOf } from '../../src/options/container-places.ts'
import type { PartitionWorker, WorkerDeps } from '../../src/partition/partition-worker.ts'
import { slotsFor } from '../../src/partition/slots.ts'

/** A worker that settles its records, and records the calls it receives. */
export class ScriptedWorker implements PartitionWorker {
  readonly partition: number
  readonly epoch: number
  readonly deps: WorkerDeps
  readonly journal: string[] = []
  readonly pausedBy = new Set<PauseReason>()
  readonly values: string[] = []
  /** The promises that open and drain wait for. */
  opening: Promise<void> = Promise.resolve()
  draining: Promise<void> = Promise.resolve()
  #next: bigint | undefined
  #acknowledged: bigint | undefined

  constructor(deps: WorkerDeps) {
    this.deps = deps
    this.partition = deps.partition
    this.epoch = deps.epoch
  }

  open(): Promise<void> {
    this.journal.push('open')
    return this.opening
  }

  accept(records: readonly KafkaRecord[]): void {
    this.journal.push('accept')
    for (const { value, offset } of records) {
      this.values.push(value?.toString() ?? '')
      this.#next = offset + 1n
    }
    this.deps.changed(true)
  }

  polled(): void {}

  condemn(): boolean {
    return false
  }

  drain(): Promise<void> {
    this.journal.push('drain')
    return this.draining
  }

  lose(): void {
    this.journal.push('lose')
  }

  pause(reason: PauseReason): void {
    this.pausedBy.add(reason)
  }

  resume(reason: PauseReason): void {
    this.pausedBy.delete(reason)
  }

  pendingCommit(): readonly OffsetCommit[] | undefined {
    if (this.#next === undefined || this.#next === this.#acknowledged) return undefined
    const { place, partition, epoch } = this.deps
    return [{ topic: place.topic, partition, epoch, offset: this.#next }]
  }

  committed([commit]: readonly OffsetCommit[]): void {
    this.#acknowledged = commit?.offset
    this.journal.push(`committed ${commit?.offset}`)
  }

  repeatCommit(): void {}

  oversized(): void {}

  positionLost(continuesAt: bigint): void {
    this.journal.push(`position lost ${continuesAt}`)
  }

  status(): PartitionStatus {
    return {
      topic: this.deps.place.topic,
      partition: this.partition,
      epoch: this.epoch,
      watermark: this.#next ?? 0n,
      committed: this.#acknowledged ?? 0n,
      buffered: 0,
      running: 0,
      unconfirmed: 0,
      waiting: 0,
      unsettledTimestamp: undefined,
      runningSince: undefined,
      pausedBy: [...this.pausedBy],
      trouble: undefined,
    }
  }
}

/** The scene of a test with containers. */
export interface ContainerScene {
  readonly sim: SimCluster
  readonly runtime: VirtualRuntime
  /** The workers in the order of their creation. */
  readonly workers: ScriptedWorker[]
  /** Receives each worker created from now on before its first call. */
  readonly prepare: (hook: (worker: ScriptedWorker) => void) => void
  readonly events: ContainerEvent[]
  readonly container: (binding?: Partial<Binding>, client?: string) => Container
  readonly write: (values: readonly string[], partition?: number) => Promise<void>
  readonly eventually: (assertion: () => void) => Promise<void>
}

/** Runs a program in such a scene; every container is stopped at the end. */
export async function containerScene(program: (scene: ContainerScene) => Promise<void>): Promise<void> {
  const runtime = createVirtualRuntime(3)
  await runtime.run(async () => {
    const sim = createSimCluster({ runtime })
    await using stack = new AsyncDisposableStack()
    const clientOf = (name: string) =>
      stack.use(createKafkaClient({ brokers: sim.brokers, transport: sim.transport(name), clientId: name, runtime }))
    const workers: ScriptedWorker[] = []
    const events: ContainerEvent[] = []
    const unused = undefined as never
    let prepareWorker: ((worker: ScriptedWorker) => void) | undefined
    const producer = clientOf('test').producer('EVENT')
    await program({
      sim,
      runtime,
      workers,
      events,
      prepare: (hook) => {
        prepareWorker = hook
      },
      container(given = {}, name = 'connector') {
        const plain = { topic: 'orders', groupId: 'shipping', handler: () => {} }
        const binding = resolveBinding('shipping', { ...plain, ...given })
        const deps: ContainerDeps = {
          binding,
          place: containerPlacesOf(binding)[0] as ContainerDeps['place'],
          client: clientOf(name),
          delivery: unused,
          publisher: unused,
          slots: slotsFor(binding),
          telemetry: new BindingTelemetry(binding, noopMetrics),
          runtime,
          host: 'host',
          createWorker: (of) => {
            const worker = new ScriptedWorker(of)
            prepareWorker?.(worker)
            workers.push(worker)
            return worker
          },
          onEvent: (event) => void events.push(event),
        }
        const container = new Container(deps)
        stack.defer(() => container.stop({ deadlineMs: 1_000 }))
        return container
      },
      async write(values, partition = 0) {
        for (const value of values)
          await producer.send({ topic: 'orders', partition, key: null, value: Buffer.from(value) })
      },
      eventually: (assertion) => eventually(assertion, { runtime, deadlineMs: 120_000 }),
    })
  })
}
