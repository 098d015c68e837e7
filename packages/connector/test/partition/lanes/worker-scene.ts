/** A lane worker between a scripted consumer, scripted deliveries and a scripted publisher, on virtual time. */

import { createMemoryLogger } from '@waybill/core'
import { noopMetrics } from '@waybill/core/internal'
import type { KafkaClient, KafkaRecord, OutRecord } from '@waybill/kafka'
import type { CommittedOffset } from '@waybill/kafka/internal'
import { createVirtualRuntime } from '@waybill/sim'
import type { Binding } from '../../../src/api/binding.ts'
import { BindingTelemetry } from '../../../src/binding/binding-telemetry.ts'
import type { BatchDelivery } from '../../../src/delivery/batch-delivery.ts'
import type { Delivery } from '../../../src/delivery/delivery.ts'
import type { DeliveryScope } from '../../../src/delivery/delivery-scope.ts'
import type { Outcome } from '../../../src/delivery/outcome.ts'
import type { Work } from '../../../src/delivery/work.ts'
import { resolveBinding } from '../../../src/options/binding-options.ts'
import { containerPlacesOf } from '../../../src/options/container-places.ts'
import { LaneWorker } from '../../../src/partition/lanes/lane-worker.ts'
import type { ConfirmedDeadLetter, WorkerDeps } from '../../../src/partition/partition-worker.ts'
import { slotsFor } from '../../../src/partition/slots.ts'
import type { PublishWatch } from '../../../src/records/derived-publisher.ts'
import type { Failure } from '../../../src/records/failure.ts'
import { recordOf } from '../../delivery/work-of.ts'

export const failure: Failure = { error: new Error('no'), attempts: 3, atMs: 0 }
export const done: Outcome = { kind: 'DONE' }
export const toDeadLetter: Outcome = { kind: 'DEAD_LETTER', reason: 'RETRIES_EXHAUSTED', failure }
export const toTier = (tier: number, attempt = 1): Outcome => ({ kind: 'RETRY', tier, attempt, failure })

/** A delivery that a test ends. */
export interface OpenDelivery {
  readonly work: Work
  readonly scope: DeliveryScope
  end(outcome: Outcome): void
}

/** A publish that a test confirms. */
export interface OpenPublish {
  readonly record: OutRecord
  readonly watch: PublishWatch
  confirm(): void
  refuse(error: Error): void
}

/** Where a scene's consumer stands. */
export interface SceneOptions {
  readonly binding?: Partial<Binding>
  readonly committed?: Partial<CommittedOffset>
  readonly position?: bigint
  /** 0 is the source. */
  readonly tier?: number
  /** Delivers batches in place of the scripted deliveries. */
  readonly batchDelivery?: Pick<BatchDelivery, 'deliver'>
  /** False leaves it to the test to open the worker. */
  readonly isOpen?: boolean
}

/** Makes the scene; the worker is open. */
export async function workerScene({
  binding: given = {},
  committed = {},
  position = 0n,
  tier = 0,
  batchDelivery,
  isOpen = true,
}: SceneOptions = {}) {
  const logger = createMemoryLogger()
  const runtime = createVirtualRuntime(1, { logger })
  const binding = resolveBinding('orders', {
    topic: 'orders',
    groupId: 'group',
    handler: () => {},
    ackMode: 'MANUAL',
    ...given,
  })
  const [place] = containerPlacesOf(binding).slice(tier)
  if (place === undefined) throw new Error('No such tier.')
  const calls: string[] = []
  const deliveries: OpenDelivery[] = []
  const publishes: OpenPublish[] = []
  const deadLetters: ConfirmedDeadLetter[] = []
  const problems: unknown[] = []
  const state = { position, isRefusing: true, urgent: 0, changes: 0 }

  const delivery = {
    get isRefusing() {
      return state.isRefusing
    },
    begin: (work: Work, scope: DeliveryScope) =>
      new Promise<Outcome>((resolve) => {
        deliveries.push({
          work,
          scope,
          end: (outcome) => {
            deliveries.splice(
              deliveries.findIndex((one) => one.work === work),
              1,
            )
            resolve(outcome)
          },
        })
      }),
  } as unknown as Delivery

  const deps: WorkerDeps = {
    binding,
    place,
    partition: 0,
    epoch: 1,
    consumer: {
      pause: () => void calls.push('pause'),
      resume: () => void calls.push('resume'),
      seek: (_, offset) => {
        calls.push(`seek ${offset}`)
        state.position = offset
      },
      position: () => state.position,
      committed: async () => [{ topic: place.topic, partition: 0, offset: null, metadata: null, ...committed }],
      confirmMembership: () => Promise.resolve(true),
      groupMetadata: () => ({ groupId: place.groupId, generationId: 1, memberId: 'member', instanceId: null }),
    },
    client: undefined as unknown as KafkaClient,
    delivery,
    batchDelivery: batchDelivery as BatchDelivery | undefined,
    publisher: {
      trouble: undefined,
      publish: (record, watch) =>
        new Promise((resolve, reject) => {
          const confirm = (): void => resolve({ partition: 0, offset: 0n })
          watch.signal.addEventListener('abort', () => reject(watch.signal.reason as Error))
          publishes.push({ record, watch, confirm, refuse: reject })
        }),
    },
    slots: slotsFor(binding),
    telemetry: new BindingTelemetry(binding, noopMetrics),
    consumerInstance: 'host-0',
    runtime,
    deadLettered: (letter) => void deadLetters.push(letter),
    changed: (isUrgent) => {
      state.changes++
      if (isUrgent) state.urgent++
    },
    unaccounted: (problem) => void problems.push(problem),
    pauseBinding: () => void calls.push('pauseBinding'),
    fail: (error) => void problems.push(error),
  }
  const worker = new LaneWorker(deps)
  if (isOpen) await worker.open()

  const records = (from: number, to: number, parts: (offset: number) => Partial<KafkaRecord> = () => ({})) =>
    Array.from({ length: to - from }, (_, index) =>
      recordOf({ topic: place.topic, offset: BigInt(from + index), ...parts(from + index) }),
    )
  return {
    runtime,
    logger,
    binding,
    slots: deps.slots,
    worker,
    calls,
    deliveries,
    publishes,
    deadLetters,
    problems,
    state,
    records,
    /** Offsets of the handlers that run. */
    running: () => deliveries.map(({ work }) => Number(work.offset)),
    /** Ends the delivery of that offset and lets what follows from it happen. */
    end: async (offset: number, outcome: Outcome = done): Promise<void> => {
      const one = deliveries.find(({ work }) => work.offset === BigInt(offset))
      if (one === undefined) throw new Error(`Offset ${offset} does not run.`)
      one.end(outcome)
      await runtime.advance(0)
    },
    confirm: async (index = 0): Promise<void> => {
      const [publish] = publishes.splice(index, 1)
      publish?.confirm()
      await runtime.advance(0)
    },
    /** Acknowledges what the worker would commit, and answers it. */
    commit: (): string | undefined => {
      const offsets = worker.pendingCommit()
      if (offsets !== undefined) worker.committed(offsets)
      return offsets?.map(({ offset, metadata }) => `${offset} ${metadata}`)[0]
    },
  }
}
