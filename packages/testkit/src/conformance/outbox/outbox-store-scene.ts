import assert from 'node:assert/strict'
import { createEnvelope, createUlidGenerator, type EventEnvelope } from '@waybill/core'
import { type EnvelopeInput, type SqlConnection } from '@waybill/core/internal'
import type { OutboxStore } from '@waybill/outbox'
import type {
  InsertOptions,
  LeaseFence,
  LeaseToken,
  PendingQuery,
  PendingRow,
  RowLease,
  RowRef,
  RowStatus,
} from '@waybill/outbox/internal'
import type { Suite } from '../suite/suite.ts'
import { until } from '../suite/until.ts'
import type { NodeUnderTest, OutboxStoreCapability, OutboxUnderTest } from './outbox-store-harness.ts'

/** Collects the tests of a part of this suite. */
export type OutboxSuite = Suite<OutboxStoreScene, OutboxStoreCapability>

/** Longer than any test takes. */
export const longMs = 600_000

/** Short enough to wait for, long enough that two statements in a row see the same side of it. */
export const shortMs = 400

export const noFence: LeaseFence = { kind: 'NONE' }

const atOnce: InsertOptions = { lease: null, availableAt: null }

/** More than the rows of any test have. */
export const manyBytes = 1_000_000_000

/** A query for every NEW row. */
export const allNew: PendingQuery = {
  status: 'NEW',
  limit: 1_000,
  maxBytes: manyBytes,
  skipRecentMs: 0,
  floor: null,
  shards: null,
}
export const allDue: PendingQuery = { ...allNew, status: 'RETRY' }

export function leaseOf(owner: string, version: bigint, timeoutMs: number = longMs): RowLease {
  return { owner, version, timeoutMs }
}

export function fenceOf({ owner, version }: LeaseToken): LeaseFence {
  return { kind: 'LEASE', owner, version }
}

export function seqsOf(rows: readonly { readonly seq: bigint }[]): bigint[] {
  return rows.map(({ seq }) => seq)
}

/** An outbox for one test, with the calls that tests make. */
export class OutboxStoreScene implements AsyncDisposable {
  readonly store: OutboxStore
  readonly one: NodeUnderTest
  readonly other: NodeUnderTest
  readonly #subject: OutboxUnderTest
  readonly #nextId: () => string
  readonly #eventIds = new Map<bigint, string>()

  constructor(subject: OutboxUnderTest) {
    this.#subject = subject
    this.store = subject.store
    ;[this.one, this.other] = subject.nodes
    this.#nextId = createUlidGenerator(subject.runtime)
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  get now(): number {
    return this.#subject.runtime.clock.now()
  }

  /** Returns an event, with a key of its own unless one is given. */
  event(input: Partial<EnvelopeInput> = {}): EventEnvelope {
    const eventId = this.#nextId()
    const payload = input.payloadBytes === undefined ? { payloadJson: `{"of":"${eventId}"}` } : {}
    return createEnvelope({
      eventId,
      eventType: 'order.placed',
      aggregateType: 'order',
      aggregateId: eventId,
      ...payload,
      ...input,
    } as EnvelopeInput)
  }

  events(count: number): EventEnvelope[] {
    return Array.from({ length: count }, () => this.event())
  }

  /** Inserts in a transaction of its own. */
  async insert(events: readonly EventEnvelope[], options: Partial<InsertOptions> = {}): Promise<bigint[]> {
    const { seqs } = await this.one.transaction((connection) =>
      this.store.insertNew(connection, events, { ...atOnce, ...options }),
    )
    seqs.forEach((seq, at) => this.#eventIds.set(seq, (events[at] as EventEnvelope).eventId))
    return [...seqs]
  }

  /** Returns the row that {@link insert} wrote with this number. */
  row(seq: bigint): RowRef {
    return { seq, eventId: this.#eventIds.get(seq) ?? 'never written' }
  }

  rows(seqs: readonly bigint[]): RowRef[] {
    return seqs.map((seq) => this.row(seq))
  }

  /** Inserts so many events and returns their numbers. */
  fill(count: number): Promise<bigint[]> {
    return this.insert(this.events(count))
  }

  /** Runs one call of the store on a session of the first node. */
  call<T>(use: (store: OutboxStore, connection: SqlConnection) => Promise<T>): Promise<T> {
    return this.one.connection((connection) => use(this.store, connection))
  }

  poll(query: Partial<PendingQuery> = {}): Promise<PendingRow[]> {
    return this.call((store, connection) => store.pollPending(connection, { ...allNew, ...query }))
  }

  claim(lease: RowLease, query: Partial<PendingQuery> = {}, node: NodeUnderTest = this.one): Promise<PendingRow[]> {
    return node.connection((connection) => this.store.claimPending(connection, lease, { ...allNew, ...query }))
  }

  async statusOf(event: EventEnvelope): Promise<RowStatus | undefined> {
    const found = await this.call((store, connection) => store.statusOf(connection, [event.eventId]))
    return found.get(event.eventId)
  }

  /** Inserts an event and brings it to a status. */
  async eventIn(status: RowStatus, event: EventEnvelope = this.event()): Promise<[seq: bigint, event: EventEnvelope]> {
    const seq = onlySeq(await this.insert([event]))
    const row = this.row(seq)
    await this.call(async (store, connection) => {
      if (status === 'DONE') await store.markDone(connection, [row], noFence, { whenDone: 'KEEP' })
      if (status === 'RETRY')
        await store.markRetry(connection, [{ ...row, attempts: 1, delayMs: 0, error: 'again' }], noFence)
      if (status === 'DEAD') await store.markDead(connection, [{ ...row, error: 'dead' }], noFence)
    })
    return [seq, event]
  }

  spoil(event: EventEnvelope): Promise<void> {
    return this.#subject.spoil(event.eventId)
  }

  /** Gives the number of an event's row to another event. */
  async reuseNumber(event: EventEnvelope): Promise<string> {
    const eventId = this.#nextId()
    await this.#subject.reuseNumber(event.eventId, eventId)
    return eventId
  }

  /** Waits until the clock of the database has advanced. */
  pass(): Promise<void> {
    return this.#subject.runtime.timers.sleep(20)
  }

  until<T>(ask: () => Promise<T>, isSo: (answer: T) => boolean): Promise<T> {
    return until(this.#subject.runtime, ask, isSo)
  }
}

export function onlySeq(seqs: readonly bigint[]): bigint {
  assert.equal(seqs.length, 1)
  return seqs[0] as bigint
}
