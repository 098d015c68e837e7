import { Buffer } from 'node:buffer'
import { createMemoryMetrics } from '@waybill/core'
import { type KafkaClient, KafkaError, type OutRecord, type TransactionalProducer } from '@waybill/kafka'
import { type OffsetCommit } from '@waybill/kafka/internal'
import { createVirtualRuntime } from '@waybill/sim'
import { expect } from 'vitest'
import type { Binding } from '../../../src/api/binding.ts'
import { BindingTelemetry } from '../../../src/binding/binding-telemetry.ts'
import type { Delivery } from '../../../src/delivery/delivery.ts'
import type { Outcome } from '../../../src/delivery/outcome.ts'
import type { Work } from '../../../src/delivery/work.ts'
import { containerPlacesOf } from '../../../src/options/container-places.ts'
import type { WorkerDeps } from '../../../src/partition/partition-worker.ts'
import { slotsFor } from '../../../src/partition/slots.ts'
import { TransactionWorker } from '../../../src/partition/transaction/transaction-worker.ts'
import { recordOf } from '../../delivery/work-of.ts'
import { resolved } from '../../options/test-binding.ts'

export const done: Outcome = { kind: 'DONE' }
export const failure = { error: new Error('no'), attempts: 1, atMs: 0 }

interface Given extends Partial<Omit<Binding, 'transactional' | 'topic'>> {
  readonly transactional?: object
  /** 0: the source. */
  readonly tier?: number
  /** What an earlier owner has left. */
  readonly committed?: { readonly offset: bigint; readonly metadata: string }
}

/** A worker between scripted deliveries and a producer whose commits a test lets through. */
async function scene({ transactional, tier = 0, committed, ...options }: Given) {
  const runtime = createVirtualRuntime(1)
  const binding = resolved({ ...options, transactional: { maxRecords: 3, ...transactional }, topic: 'orders' })
  const place = containerPlacesOf(binding)[tier]
  if (place === undefined) throw new Error('No place.')
  const metrics = createMemoryMetrics()
  const deliveries: { work: Work; end: (outcome: Outcome) => void }[] = []
  const transactions: { records: string[]; offset: bigint; metadata: string }[] = []
  const commits: (() => void)[] = []
  const dead: bigint[] = []
  const sought: bigint[] = []
  const problems: unknown[] = []
  const state = {
    position: committed?.offset ?? 0n,
    isHeld: false,
    /** Why a topic does not take a record. */
    refusalOf: (_record: OutRecord): KafkaError | undefined => undefined,
  }
  let open: { records: string[]; offset: bigint; metadata: string }
  const producer = {
    begin: async () => {
      open = { records: [], offset: -1n, metadata: '' }
    },
    send: async (record: OutRecord) => {
      const cause = state.refusalOf(record)
      if (cause !== undefined) throw new KafkaError('The transaction has to be aborted.', 'ABORTABLE', { cause })
      open.records.push(`${record.topic} ${String(record.value)}`)
    },
    sendOffsets: async ([offset]: OffsetCommit[]) => {
      open.offset = offset?.offset ?? -1n
      open.metadata = offset?.metadata ?? ''
    },
    commit: async () => {
      if (state.isHeld) await new Promise<void>((resolve) => commits.push(resolve))
      transactions.push(open)
    },
    abort: async () => {},
    close: async () => {},
  } as unknown as TransactionalProducer
  const deps: WorkerDeps = {
    binding,
    place,
    partition: 0,
    epoch: 1,
    consumer: {
      pause: () => {},
      resume: () => {},
      seek: (_, offset) => {
        sought.push(offset)
        state.position = offset
      },
      position: () => state.position,
      committed: async () => [{ topic: 'orders', partition: 0, ...(committed ?? { offset: null, metadata: null }) }],
      confirmMembership: async () => true,
      groupMetadata: () => ({ groupId: 'g', generationId: 1, memberId: 'm', instanceId: null }),
    },
    client: { transactionalProducer: () => producer } as unknown as KafkaClient,
    delivery: {
      isRefusing: false,
      deliver: (work: Work) =>
        new Promise<Outcome>((resolve) => {
          deliveries.push({ work, end: resolve })
        }),
    } as unknown as Delivery,
    publisher: { trouble: undefined, publish: () => Promise.reject(new Error('Nothing is written beside.')) },
    slots: slotsFor(binding),
    telemetry: new BindingTelemetry(binding, metrics),
    consumerInstance: 'host-0',
    runtime,
    deadLettered: ({ work }) => void dead.push(work.offset),
    changed: () => {},
    unaccounted: (problem) => void problems.push(problem),
    pauseBinding: () => {},
    fail: (error) => void problems.push(error),
  }
  const worker = new TransactionWorker(deps)
  await worker.open()
  const settle = (): Promise<void> => runtime.timers.sleep(1)
  const next = (): (typeof deliveries)[number] => deliveries.shift() as (typeof deliveries)[number]
  return {
    runtime,
    place,
    worker,
    metrics,
    deliveries,
    transactions,
    commits,
    dead,
    sought,
    problems,
    state,
    settle,
    /** Offsets of the records whose handlers run. */
    running: (): bigint[] => deliveries.map(({ work }) => work.offset),
    /** Ends the delivery that runs, after it has sent its own offset. */
    end: async (outcome: Outcome): Promise<void> => {
      const { work, end } = next()
      work.outputs?.begin().send({ topic: 'out', key: null, value: Buffer.from(`${work.offset}`) })
      end(outcome)
      await settle()
    },
    /** Ends it without that its handler was called. */
    endUncalled: async (outcome: Outcome): Promise<void> => {
      next().end(outcome)
      await settle()
    },
    accept: (...offsets: number[]): void =>
      worker.accept(
        offsets.map((offset) => recordOf({ offset: BigInt(offset), topic: 'orders', timestamp: runtime.clock.now() })),
      ),
  }
}

export type Scene = Awaited<ReturnType<typeof scene>>

/** Runs a program in virtual time; nothing may fail in it but records. */
export async function inScene(program: (scene: Scene) => Promise<void>, given: Given = {}): Promise<void> {
  const made = await scene(given)
  await made.runtime.run(() => program(made))
  expect(made.problems.filter((problem) => problem instanceof Error)).toEqual([])
}
