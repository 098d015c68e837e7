/** Owners of one partition with `orderingMode: KEY` on a simulated cluster, and what a test does to them. */

import { Buffer } from 'node:buffer'
import { createMemoryLogger, replayHeader } from '@waybill/core'
import { noopMetrics, originalHeader } from '@waybill/core/internal'
import {
  createKafkaClient,
  type KafkaClient,
  KafkaError,
  type KafkaRecord,
  type OutRecord,
  type Producer,
} from '@waybill/kafka'
import { readBatches } from '@waybill/kafka/wire'
import {
  createSimCluster,
  createVirtualRuntime,
  type FaultProfile,
  type SimCluster,
  type VirtualRuntime,
} from '@waybill/sim'
import { type AcceptedCommit } from '@waybill/sim/internal'
import { eventually } from '@waybill/testkit'
import type { Binding } from '../../../src/api/binding.ts'
import type { ResolvedBinding } from '../../../src/binding/resolved-binding.ts'
import { auditLedgers } from '../../../src/ledger/audit-ledgers.ts'
import { type CommittedLedgers, decodeCommitMetadata } from '../../../src/ledger/commit-metadata.ts'
import { resolveBinding } from '../../../src/options/binding-options.ts'
import type { Original } from '../../../src/partition/key-order/original.ts'
import {
  decodeWaiting,
  releaseRecord,
  replayRecord,
  type WaitingRead,
} from '../../../src/partition/key-order/waiting-record.ts'
import { deadLetterRecordOf } from '../../../src/records/dead-letter-record.ts'
import { HandledHistory } from './handled-history.ts'
import { type OwnerWorld, WaitingOwner } from './waiting-owner.ts'
import { groupId, place } from './waiting-place.ts'

/** How a world is made. */
export interface WorldOptions {
  readonly seed?: number
  readonly brokers?: number
  readonly binding?: Partial<Binding>
}

/** See the file's comment. */
export class WaitingWorld implements OwnerWorld {
  readonly runtime: VirtualRuntime
  readonly sim: SimCluster
  readonly binding: ResolvedBinding
  readonly history = new HandledHistory()
  readonly owners: WaitingOwner[] = []
  /** Each accepted commit of the source, as a stranger reads it. */
  readonly commits: CommittedLedgers[] = []
  readonly logger = createMemoryLogger()
  /** The owner that was told last that the partition is its own. */
  current: WaitingOwner | undefined
  /** Milliseconds that a handler takes. */
  handlerMs: () => number = () => 1
  /** Is asked at each named point of whichever owner comes there. */
  failpoint: (name: string) => void | Promise<void> = () => {}
  readonly #admin: KafkaClient
  #faults: FaultProfile | false = false
  #producer: Producer | undefined

  constructor({ seed = 1, brokers = 1, binding = {} }: WorldOptions = {}) {
    this.runtime = createVirtualRuntime(seed, {
      logger: this.logger,
      metrics: noopMetrics,
      failpoint: (name) => this.failpoint(name),
    })
    this.sim = createSimCluster({ brokers, runtime: this.runtime, onCommit: (commit) => this.#committed(commit) })
    this.binding = resolveBinding('orders', {
      topic: place.source.topic,
      groupId,
      handler: () => {},
      orderingMode: 'KEY',
      parallelism: 'KEY',
      retry: { tiers: [{ delayMs: 1_000, maxAttempts: 2 }] },
      ...binding,
    })
    this.history.onDeadKey = this.binding.onDeadKey
    this.history.now = () => this.runtime.clock.monotonic()
    for (const topic of [place.source.topic, place.waiting.topic, this.binding.deadLetter.topic])
      this.sim.createTopic(topic)
    this.#admin = this.client('admin')
  }

  client(name: string, transport = this.sim.transport(name)): KafkaClient {
    return createKafkaClient({ brokers: this.sim.brokers, transport, clientId: name, runtime: this.runtime })
  }

  /** A process that takes part in the group. */
  async owner(): Promise<WaitingOwner> {
    const owner = new WaitingOwner(this, `owner-${this.owners.length + 1}`)
    this.owners.push(owner)
    await owner.start()
    return owner
  }

  /** Writes records as `key` or `key/failures`: `a`, `a/2`, `-` for none, `b/x` for one that never succeeds. */
  async write(...records: readonly string[]): Promise<void> {
    const written = records.map((text) => {
      const [key = '', failures = '0'] = text.split('/')
      this.history.records.push({
        key: key === '-' ? null : key,
        failuresLeft: failures === 'x' ? Infinity : Number(failures),
      })
      const value = Buffer.from(`${this.history.records.length - 1}`)
      return { ...place.source, key: key === '-' ? null : Buffer.from(key), value }
    })
    await this.#send(written)
  }

  /** Writes a record that was replayed for another group, or one that only claims it: its value differs. */
  async writeForOthers(key: string, original: number, value = `${original}`): Promise<void> {
    this.history.records.push({ key, failuresLeft: 0 })
    const headers = [
      [originalHeader.topic, Buffer.from(place.source.topic)],
      [originalHeader.partition, Buffer.from('0')],
      [originalHeader.offset, Buffer.from(`${original}`)],
      [replayHeader.count, Buffer.from('1')],
      [replayHeader.consumerGroup, Buffer.from('billing')],
    ] as const
    await this.#send([{ ...place.source, key: Buffer.from(key), value: Buffer.from(value), headers }])
  }

  /** An operator delivers a dead record once more. */
  async replay(original: Original, count: number): Promise<void> {
    this.history.replaying(Number(original.offset))
    const content = { value: Buffer.from(`${original.offset}`), headers: [] }
    await this.#send([replayRecord(place, original, count, content)])
  }

  /** An operator frees the key of a dead record. */
  async release(original: Original, count = 0): Promise<void> {
    this.history.released.add(Number(original.offset))
    await this.#send([releaseRecord(place, original, count)])
  }

  /** An operator sets the group's offset with a tool that knows nothing of what a commit carries. */
  async resetGroup(offset: bigint): Promise<void> {
    await this.#admin.admin.alterGroupOffsets(groupId, [{ ...place.source, offset }])
  }

  /** What goes wrong between owners and cluster from now on. */
  set faults(profile: FaultProfile | false) {
    this.#faults = profile
    this.sim.setFaults(profile)
  }

  /** What lies in the waiting topic, from its first record on. */
  waiting(): WaitingRead[] {
    return this.#read(place.waiting.topic).map((record) => decodeWaiting(record, place))
  }

  /** The same as texts: `HELD 3`, `MARKER 3`, `FENCE`. */
  waitingTexts(): string[] {
    return this.waiting().map((read) => ('original' in read ? `${read.kind} ${read.original.offset}` : read.kind))
  }

  /** Originals of the dead letters, with the replay they died in. */
  deadLetters(): { readonly original: Original; readonly replayCount: number }[] {
    return this.#read(this.binding.deadLetter.topic).map((record) => {
      const letter = deadLetterRecordOf({ key: record.key, value: record.value, headers: [...record.headers] })
      const original = { offset: letter.originalOffset, timestamp: letter.originalTimestamp, key: record.key }
      return { original, replayCount: Number(record.headers.text('x-eventbus-replay-count') ?? 0) }
    })
  }

  get lastCommit(): CommittedLedgers | undefined {
    return this.commits.at(-1)
  }

  /** Everything is handled or dead, nothing waits, and the group knows. */
  isAtRest(): boolean {
    const commit = this.lastCommit
    return (
      commit?.waiting !== undefined &&
      commit.source.position === this.sim.partition(place.source.topic, 0).highWatermark &&
      commit.waiting.position === this.sim.partition(place.waiting.topic, 0).highWatermark
    )
  }

  eventually(assertion: () => void, deadlineMs = 120_000): Promise<void> {
    return eventually(assertion, { runtime: this.runtime, deadlineMs })
  }

  async close(): Promise<void> {
    await Promise.all(this.owners.map((owner) => owner.stop()))
    await this.#admin.close()
  }

  /** Without faults: who writes is not under test, and the test has to know what is there. */
  async #send(records: readonly OutRecord[]): Promise<void> {
    this.sim.setFaults(false)
    this.#producer ??= this.#admin.producer('DEAD_LETTER')
    for (const record of records) await this.#sendOnce(this.#producer, record)
    this.sim.setFaults(this.#faults)
  }

  /** A write that was refused for a test's sake is no write. */
  async #sendOnce(producer: Producer, record: OutRecord): Promise<void> {
    for (;;) {
      try {
        await producer.send(record)
        return
      } catch (error) {
        if (!(error instanceof KafkaError) || error.kind === 'UNKNOWN') throw error
      }
    }
  }

  #read(topic: string): KafkaRecord[] {
    const { records } = this.sim.partition(topic, 0)
    return [...readBatches(records)].flatMap((batch) =>
      batch.records({ topic, partition: 0, epoch: 0 }, batch.baseOffset),
    )
  }

  /** I1 and I20, asked by the cluster itself at every commit that it takes. */
  #committed({ offsets }: AcceptedCommit): void {
    const { broken } = this.history
    const source = offsets.find(({ topic }) => topic === place.source.topic)
    if (source === undefined) return
    const read = decodeCommitMetadata({ offset: source.offset, metadata: source.metadata })
    if ('problem' in read) return void broken.push(`I20: ${read.problem}`)
    this.commits.push(read)
    for (const { equation, missing } of auditLedgers(read.source, read.waiting))
      broken.push(`I20: ${equation} ${missing}`)
    this.#checkSettled(read)
  }

  #checkSettled({ source, waiting }: CommittedLedgers): void {
    const kept = new Set<number>()
    for (const read of this.waiting()) {
      if (!('original' in read) || read.kind === 'RELEASE' || waiting === undefined) continue
      if (read.at >= waiting.position && !waiting.settledAbove.has(read.at)) kept.add(Number(read.original.offset))
    }
    for (const [offset] of this.history.records.entries()) {
      if (offset >= source.position && !source.settledAbove.has(BigInt(offset))) continue
      const { history } = this
      if (history.succeeded(offset) || history.dead.has(offset) || history.skipped.has(offset) || kept.has(offset))
        continue
      this.history.broken.push(`I1: ${offset} is committed at ${source.position}, neither handled nor dead nor waiting`)
    }
  }
}

/** Runs a program in a world, on virtual time. */
export async function waitingWorld(
  program: (world: WaitingWorld) => Promise<void>,
  options: WorldOptions = {},
): Promise<WaitingWorld> {
  const world = new WaitingWorld(options)
  await world.runtime.run(async () => {
    await program(world)
    await world.close()
  })
  return world
}
