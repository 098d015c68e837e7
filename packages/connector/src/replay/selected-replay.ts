/**
 * Replays a selection of dead letters in steps, outside of every group: dead letters that the predicate passes over stay
 * where they are for the next replay by count.
 *
 *     next: read ▸ whose is it ▸ predicate ▸ objections ▸ parked parts        send: build the copy ▸ write ▸ confirmed
 *
 * | the copy is | it is reported as |
 * |---|---|
 * | confirmed | sent |
 * | rejected for its content, also alone | refused |
 * | rejected, and not written | unsent |
 * | anything else | unknown: a repeat may write it twice |
 */

import type { Buffer } from 'node:buffer'
import { ArgumentError, describeThrown, type Runtime, StateError } from '@waybill/core'
import { type KafkaClient, KafkaError, type KafkaRecord, type OutRecord, type Producer } from '@waybill/kafka'
import { isOfContent, Queue } from '@waybill/kafka/internal'
import type {
  DeadLetterReplay,
  DeadLetterSelection,
  RefusedDeadLetter,
  ReplayBatch,
  SelectedDeadLetter,
  SelectedReplayOptions,
  SentBatch,
} from '../api/dead-letter-selection.ts'
import { type DeadLetterReading, readDeadLetter } from '../records/dead-letter-record.ts'
import { derivedProducerOptions } from '../records/derived-publisher.ts'
import { editedLetter } from './edited-letter.ts'
import { withParkedParts } from './parked-parts.ts'
import { copyFor, isOf, objectionTo, type ReplayPlan, targetTopicOf } from './replay-plan.ts'
import { storedDeadLetter } from './stored-dead-letter.ts'
import { UnreadRanges } from './unread-ranges.ts'

const recordsPerRead = 500
/** The caller gets a turn after this many records, whatever the predicate selects. */
const maxScanned = 1_000

/** The dependencies of a replay in steps. */
export interface SelectedReplayDeps {
  readonly client: KafkaClient
  readonly runtime: Runtime
  /** For each dead letter topic, the plans of the bindings' parts that write to it. */
  readonly plans: ReadonlyMap<string, readonly ReplayPlan[]>
  readonly selection: DeadLetterSelection
  readonly options: SelectedReplayOptions
}

interface Prepared {
  readonly letter: DeadLetterReading
  readonly plan: ReplayPlan
}

type Decision =
  | { readonly kind: 'PASSED_OVER' }
  | { readonly kind: 'REFUSED'; readonly reason: string }
  | ({ readonly kind: 'SELECTED' } & Prepared)

const passedOver: Decision = { kind: 'PASSED_OVER' }

/** See the file's comment. */
export class SelectedReplay implements DeadLetterReplay {
  readonly targets: readonly string[]
  readonly #deps: SelectedReplayDeps
  readonly #unread: UnreadRanges
  readonly #prepared = new WeakMap<SelectedDeadLetter, Prepared>()
  #reader: ReturnType<KafkaClient['reader']> | undefined
  /** The ranges that the reader reads. */
  #reading: ReturnType<UnreadRanges['nextToRead']> = []
  readonly #queue = new Queue<KafkaRecord>()
  #producer: Producer | undefined
  #isClosed = false

  constructor(deps: SelectedReplayDeps) {
    this.#deps = deps
    this.#unread = new UnreadRanges(deps.selection.ranges)
    this.targets = [...new Set([...deps.plans.values()].flat().map(targetTopicOf))]
  }

  async next(maxSelected: number): Promise<ReplayBatch | undefined> {
    const batch = { scanned: 0, selected: [], refused: [], remaining: [] } as Mutable<ReplayBatch>
    try {
      await this.#fill(batch, maxSelected)
    } catch (error) {
      this.#queue.clear()
      await this.#closeReader()
      // The next call fails again, or continues.
      if (batch.scanned === 0) throw error
    }
    const remaining = this.#unread.list()
    return batch.scanned === 0 && remaining.length === 0 ? undefined : { ...batch, remaining }
  }

  async #fill(batch: Mutable<ReplayBatch>, maxSelected: number): Promise<void> {
    while (batch.selected.length < maxSelected && batch.scanned < maxScanned) {
      const record = await this.#nextRecord()
      if (record === undefined) return
      if (this.#unread.has(record)) {
        const { topic, partition, offset } = record
        const decision = await this.#decide(record)
        if (decision.kind === 'REFUSED') batch.refused.push({ topic, partition, offset, reason: decision.reason })
        if (decision.kind === 'SELECTED') batch.selected.push(this.#selected(record, decision))
        batch.scanned++
      }
      this.#queue.shift()
      this.#unread.passed(record, record.offset + 1n)
    }
  }

  async send({ selected }: ReplayBatch): Promise<SentBatch> {
    if (this.#deps.options.dryRun === true) throw new StateError('A dry run writes nothing.')
    this.#requireOpen()
    const producer = (this.#producer ??= this.#deps.client.producer('DEAD_LETTER', derivedProducerOptions))
    const nowMs = this.#deps.runtime.clock.now()
    const copies = selected.map((one) => ({ one, copy: this.#copy(one, nowMs) }))
    const written = await Promise.all(copies.map(({ copy }) => writeTo(producer, copy)))
    const result = { sent: [], refused: [], unsent: [], unknown: [], failure: undefined } as Mutable<SentBatch>
    for (const [at, { one, copy }] of copies.entries()) {
      const { topic, partition, offset } = one
      const place = { topic, partition, offset }
      let outcome = written[at] as Written
      // The cause may be another record of the same batch, so it is sent once more, alone.
      if (outcome.kind === 'CONTENT') outcome = await writeTo(producer, copy)
      if (outcome.kind === 'SENT') result.sent.push(place)
      else if (outcome.kind === 'NO_ORIGINAL') result.refused.push({ ...place, reason: 'NO_ORIGINAL' })
      else if (outcome.kind === 'CONTENT') result.refused.push(this.#rejected(place, outcome.failure))
      else {
        result[outcome.kind === 'UNSENT' ? 'unsent' : 'unknown'].push(place)
        result.failure ??= outcome.failure
      }
    }
    return result
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true
    await this.#closeReader()
    await this.#producer?.close()
  }

  /** Returns the first record of the queue, and keeps it there until it is decided. */
  async #nextRecord(): Promise<KafkaRecord | undefined> {
    this.#requireOpen()
    while (this.#queue.size === 0) {
      if (this.#reader === undefined) {
        this.#reading = this.#unread.nextToRead()
        if (this.#reading.length === 0) return undefined
        this.#reader = this.#deps.client.reader(this.#reading)
      }
      const records = await this.#reader.next(recordsPerRead)
      if (records === undefined) await this.#endReading()
      else for (const record of records) this.#queue.push(record)
      this.#requireOpen()
    }
    return this.#queue.peek()
  }

  /** Throws after the disposal: what is opened then would stay open. */
  #requireOpen(): void {
    if (this.#isClosed) throw new StateError('The replay is closed.')
  }

  /** Every record of these ranges is decided: what is left of them holds none. */
  async #endReading(): Promise<void> {
    for (const range of this.#reading) this.#unread.passed(range, range.until)
    await this.#closeReader()
  }

  async #closeReader(): Promise<void> {
    const reader = this.#reader
    this.#reader = undefined
    await reader?.close()
  }

  async #decide(record: KafkaRecord): Promise<Decision> {
    const { client, plans, selection } = this.#deps
    const letter = readDeadLetter(record)
    const plan = plans.get(record.topic)?.find(({ binding }) => isOf(letter, binding))
    if (plan === undefined) return passedOver
    const answer = (await selection.where?.(storedDeadLetter(letter, record))) ?? true
    this.#requireOpen()
    if (answer === false) return passedOver
    const reason = answer === true ? objectionTo(letter, plan) : answer
    if (reason !== undefined) return { kind: 'REFUSED', reason }
    if (plan.route.kind === 'RELEASE') return { kind: 'SELECTED', letter, plan }
    const whole = await withParkedParts(letter, client)
    return whole === undefined
      ? { kind: 'REFUSED', reason: 'PARKED_PART_GONE' }
      : { kind: 'SELECTED', letter: whole, plan }
  }

  #selected({ topic, partition, offset }: KafkaRecord, { letter, plan }: Prepared): SelectedDeadLetter {
    const { key, value, originalTopic, originalPartition, originalOffset } = letter.record
    const bytes = sizeOf(key) + sizeOf(value)
    const one = { topic, partition, offset, key, bytes, originalTopic, originalPartition, originalOffset }
    this.#prepared.set(one, { letter, plan })
    return one
  }

  #copy(one: SelectedDeadLetter, nowMs: number): OutRecord | 'NO_ORIGINAL' {
    const prepared = this.#prepared.get(one)
    if (prepared === undefined) throw new ArgumentError('Pass a batch of this replay, as next() returned it.')
    const { edit } = this.#deps.options
    const letter = edit === undefined ? prepared.letter : editedLetter(prepared.letter, edit)
    return copyFor(letter, prepared.plan, nowMs)
  }

  #rejected(place: Omit<RefusedDeadLetter, 'reason'>, failure: unknown): RefusedDeadLetter {
    const fields = { ...place, offset: String(place.offset), reason: describeThrown(failure) }
    this.#deps.runtime.logger.warn(fields, 'Dead letter skipped: its copy was rejected')
    return { ...place, reason: 'REFUSED' }
  }
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] extends readonly (infer Item)[] ? Item[] : T[K] }

interface Written {
  readonly kind: 'SENT' | 'NO_ORIGINAL' | 'CONTENT' | 'UNSENT' | 'UNKNOWN'
  readonly failure?: Error
}

/** Never rejects. */
async function writeTo(producer: Pick<Producer, 'send'>, copy: OutRecord | 'NO_ORIGINAL'): Promise<Written> {
  if (copy === 'NO_ORIGINAL') return { kind: 'NO_ORIGINAL' }
  try {
    await producer.send(copy)
    return { kind: 'SENT' }
  } catch (thrown) {
    const failure = thrown instanceof Error ? thrown : new StateError(describeThrown(thrown))
    if (failure instanceof ArgumentError) return { kind: 'CONTENT', failure }
    if (!(failure instanceof KafkaError)) return { kind: 'UNKNOWN', failure }
    if (isOfContent(failure)) return { kind: 'CONTENT', failure }
    return { kind: failure.kind === 'UNKNOWN' ? 'UNKNOWN' : 'UNSENT', failure }
  }
}

function sizeOf(bytes: Buffer | null): number {
  return bytes?.length ?? 0
}
