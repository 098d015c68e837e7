/**
 * Sends one partition's records from queue to log, with at most one request in flight, so that no batch can overtake
 * another.
 *
 *             start                 WRITTEN: sequence += count
 *     IDLE ──────────▶ IN_FLIGHT ─────────────────────────────▶ IDLE
 *                          │
 *                          ├─ no response, DOUBTFUL ─▶ BACKING_OFF, and the front is in doubt
 *                          ├─ not sent, LATER ───────▶ BACKING_OFF          (LATER more often than allowed: rejected)
 *                          ├─ CONTENT, 2 or more ────▶ IDLE, batches half as large until one is written
 *                          ├─ SEQUENCE, no doubt ────▶ BACKING_OFF, under the next epoch
 *                          ├─ SEQUENCE, in doubt ────▶ BACKING_OFF
 *                          └─ CONTENT of one, REFUSED, FENCED ──▶ rejected, IDLE
 *
 *     BACKING_OFF ──start──▶ IN_FLIGHT   the same records, id, epoch and sequence, by which the broker detects a duplicate
 *
 * A batch is a prefix of the queue, and records leave the queue only with their result. `inDoubt` counts the records
 * from the front that an attempt with the current sequence may have written. While it is not 0, the front of the queue
 * does not change, even if callers cancel: if a written sequence were reused for other records, the broker would drop
 * those as duplicates. Doubt ends in one of two ways. Either the broker accepts or recognizes the sequence, which
 * settles everything before it. Or every record in doubt times out: their callers get UNKNOWN, and the partition
 * continues under the next epoch, whose first batch makes the broker refuse the doubtful one permanently, should it
 * still be in flight.
 *
 * SEQUENCE despite a correct count has two causes: the log lost acknowledged batches (an unclean election), or a
 * deposed leader answers from a shorter log. Without doubt the batch is in neither log, and resending it under the next
 * epoch cannot duplicate it. In doubt it may be in the other leader's log. So it is resent unchanged, with fresh
 * metadata, until that leader confirms it or it times out.
 *
 * A refused batch leaves the sequence unchanged: the broker counts only what it wrote.
 */

import type { Buffer } from 'node:buffer'
import { UnreachableError } from '@waybill/core'
import { type Random } from '@waybill/core/internal'
import { errorCode } from '../../wire/api/error-codes.ts'
import { TransportError } from '../../wire/broker/kafka-transport.ts'
import { encodeMeasured } from '../../wire/records/encode-batch.ts'
import { type KafkaError, kafkaError } from '../cluster/kafka-error.ts'
import { partitionName } from '../cluster/partition-name.ts'
import { retryWaitMs } from '../cluster/retry-backoff.ts'
import { batchCount, dueInMs, RecordQueue } from './accumulator.ts'
import type { PendingRecord } from './pending-record.ts'
import { meaningOf } from './produce-answer.ts'
import { nextEpoch, type ProducerIdentity, sequenceAfter } from './producer-identity.ts'
import type { ResolvedProducerOptions } from './producer-options.ts'
import { canceledError, lateError, lostAnswerError, notSentError, unencodableError } from './send-error.ts'

/** The result of an attempt: the broker's response, or the error of a request without one. */
export type AttemptResult =
  | { readonly code: number; readonly message: string | null; readonly baseOffset: bigint }
  | { readonly error: KafkaError }

/** State that all senders of a producer share, and callbacks to the producer. */
export interface SenderContext {
  readonly options: ResolvedProducerOptions
  readonly random: Random
  /** True when batches belong to a transaction. */
  readonly isTransactional: boolean
  /**
   * True when senders may raise the epoch. Otherwise a sender with an uncertain sequence is blocked until it gets a new
   * identity.
   */
  readonly raisesEpoch: boolean
  /** Called when a batch is in the log, with the time of `send` of its first record. */
  written(topic: string, sentAt: number, now: number, records: number): void
  /** Called when a record has its result. */
  settled(record: PendingRecord): void
  /** Called when a producer id has no epochs left. */
  spent(identity: ProducerIdentity): void
  /** Called after records failed or became unknown. Later records are still queued. */
  failed(error: KafkaError, sender: PartitionSender): void
}

type Phase = 'IDLE' | 'IN_FLIGHT' | 'BACKING_OFF'

/** Sends the records of one partition in order. Makes no requests itself: the send loop calls `start` and `finish`. */
export class PartitionSender {
  readonly topic: string
  readonly partition: number
  readonly #context: SenderContext
  readonly #queue: RecordQueue = new RecordQueue()
  #phase: Phase = 'IDLE'
  #identity: ProducerIdentity | null = null
  #sequence = 0
  /** The current batch: its record count, and its bytes while they are valid. */
  #count = 0
  #encoded: Buffer | null = null
  #inDoubt = 0
  #refusals = 0
  #failures = 0
  #repeatAt = 0
  /** Most records in a batch; lowered while searching for a record that the broker never accepts. */
  #limit: number = Number.POSITIVE_INFINITY
  #trouble: KafkaError | undefined

  constructor(topic: string, partition: number, context: SenderContext) {
    this.topic = topic
    this.partition = partition
    this.#context = context
  }

  get isInFlight(): boolean {
    return this.#phase === 'IN_FLIGHT'
  }

  get isEmpty(): boolean {
    return this.#queue.length === 0
  }

  get queuedBytes(): number {
    return this.#queue.bytes
  }

  /** True when its last attempt failed: it goes into a separate request. */
  get isRepeat(): boolean {
    return this.#failures > 0
  }

  /** True when its records only wait for the linger time. */
  get isLingering(): boolean {
    return this.#phase === 'IDLE' && !this.isEmpty
  }

  get needsIdentity(): boolean {
    return this.#identity === null
  }

  /** Time of `send` of the oldest record without a result. */
  get oldestSentAt(): number | undefined {
    for (let index = 0; ; index++) {
      const record = this.#queue.at(index)
      if (record === undefined || !record.isSettled) return record?.sentAt
    }
  }

  enqueue(record: PendingRecord): void {
    this.#queue.push(record)
  }

  /**
   * Returns how long until `start` may be called; Infinity while there is nothing to send or a request is in flight.
   */
  dueInMs(now: number, isUrgent: boolean): number {
    switch (this.#phase) {
      case 'IN_FLIGHT':
        return Number.POSITIVE_INFINITY
      case 'BACKING_OFF':
        return Math.max(0, this.#repeatAt - now)
      case 'IDLE':
        return dueInMs(this.#queue, now, this.#context.options, isUrgent)
    }
  }

  /** Starts at sequence 0 under another identity. Nothing may be in flight or in doubt. */
  identify(identity: ProducerIdentity): void {
    this.#identity = identity
    this.#sequence = 0
    this.#encoded = null
  }

  /** Drops the identity: nothing is sent before `identify`. */
  forgetIdentity(): void {
    this.#identity = null
    this.#encoded = null
  }

  /**
   * Returns the batch to send now; null when it cannot be encoded. Nothing is then in flight: its only record has
   * failed, or the next batch is half as large.
   */
  start(identity: ProducerIdentity): Buffer | null {
    if (this.#identity === null) this.identify(identity)
    if (this.#count === 0) this.#count = batchCount(this.#queue, this.#context.options.batchBytes, this.#limit)
    try {
      this.#encoded ??= this.#encode(this.#identity ?? identity)
    } catch (error) {
      // Only one of its records may be at fault: smaller batches find it.
      if (this.#count > 1 && this.#inDoubt === 0) this.#split()
      else this.#reject(unencodableError(this, error))
      return null
    }
    this.#phase = 'IN_FLIGHT'
    return this.#encoded
  }

  #encode({ producerId, epoch }: ProducerIdentity): Buffer {
    const { options, isTransactional } = this.#context
    return encodeMeasured(this.#queue.front(this.#count), options.compression, {
      producerId,
      producerEpoch: epoch,
      baseSequence: this.#sequence,
      isTransactional,
    })
  }

  /** Processes the result of the batch from `start`. */
  finish(result: AttemptResult, now: number): void {
    this.#phase = 'IDLE'
    if ('error' in result) this.#finishUnanswered(result.error, now)
    else this.#finishAnswered(result, now)
    this.#dropIfOver()
    this.#dropUnwanted()
  }

  #finishUnanswered(error: KafkaError, now: number): void {
    if (error.kind === 'FATAL') {
      if (mayBeWritten(error)) this.#doubt()
      this.#reject(error)
      return
    }
    if (error.kind !== 'RETRIABLE') this.#doubt()
    this.#repeat(error, now)
  }

  #finishAnswered(answer: Exclude<AttemptResult, { error: KafkaError }>, now: number): void {
    const meaning = meaningOf(answer.code)
    if (meaning === 'WRITTEN') {
      this.#written(answer, now)
      return
    }
    const error = kafkaError(`Cannot write to ${partitionName(this)}`, answer.code, answer.message)
    switch (meaning) {
      case 'DOUBTFUL':
        this.#doubt()
        this.#repeat(error, now)
        break
      case 'LATER':
        this.#repeatRefused(error, now)
        break
      case 'CONTENT':
        if (this.#count > 1) this.#split()
        else this.#reject(error)
        break
      case 'SEQUENCE':
        if (this.#inDoubt > 0) this.#repeat(error, now)
        else this.#renumber(error, now)
        break
      case 'FENCED':
      case 'REFUSED':
        this.#reject(error)
        break
      default:
        throw new UnreachableError(meaning)
    }
  }

  #written({ code, baseOffset }: { readonly code: number; readonly baseOffset: bigint }, now: number): void {
    const count = this.#count
    this.#context.written(this.topic, this.#queue.at(0)?.sentAt ?? now, now, count)
    this.#sequence = sequenceAfter(this.#sequence, count)
    this.#limit *= 2
    this.#clearBatch()
    // A duplicate: the broker no longer knows the offset.
    let offset = code === errorCode.NONE ? baseOffset : -1n
    for (const record of this.#queue.removeFrom(0, count)) {
      if (!record.isSettled) {
        record.written(this.partition, offset)
        this.#context.settled(record)
      }
      if (offset >= 0n) offset++
    }
  }

  #doubt(): void {
    this.#inDoubt = Math.max(this.#inDoubt, this.#count)
  }

  #repeat(error: KafkaError, now: number): void {
    this.#trouble = error
    this.#failures++
    this.#phase = 'BACKING_OFF'
    const { options, random } = this.#context
    this.#repeatAt = now + retryWaitMs(this.#failures, random, options.retryBackoffMs)
  }

  /** Retries a refused batch up to the limit. A refusal while in doubt settles nothing, so it does not count. */
  #repeatRefused(error: KafkaError, now: number): void {
    const { retries } = this.#context.options
    if (this.#inDoubt === 0 && retries !== false && this.#refusals >= retries) {
      this.#reject(error)
      return
    }
    this.#refusals++
    this.#repeat(error, now)
  }

  #split(): void {
    this.#limit = Math.ceil(this.#count / 2)
    this.#count = 0
    this.#encoded = null
  }

  #renumber(error: KafkaError, now: number): void {
    if (!this.#context.raisesEpoch) {
      this.#reject(error)
      this.forgetIdentity()
      return
    }
    this.#raiseEpoch()
    this.#repeatRefused(error, now)
  }

  #raiseEpoch(): void {
    const spent = this.#identity
    const next = this.#context.raisesEpoch && spent !== null ? nextEpoch(spent) : null
    if (next !== null) {
      this.identify(next)
      return
    }
    this.forgetIdentity()
    if (this.#context.raisesEpoch && spent !== null) this.#context.spent(spent)
  }

  /** Fails the current batch, with every record in doubt. */
  #reject(error: KafkaError): void {
    const count = Math.max(this.#count, this.#inDoubt)
    const isInDoubt = this.#inDoubt > 0
    // FENCED is more specific than UNKNOWN: the next owner must read the log anyway.
    const reported = isInDoubt && error.kind !== 'FENCED' ? lostAnswerError(this, error) : error
    if (isInDoubt) this.#raiseEpoch()
    this.#clearBatch()
    for (const record of this.#queue.removeFrom(0, count)) this.#fail(record, reported)
    this.#context.failed(reported, this)
  }

  /**
   * Drops the records in doubt once all of them have their result, unless an attempt in flight may still settle them.
   */
  #dropIfOver(): void {
    if (this.#phase === 'IN_FLIGHT' || this.#inDoubt === 0) return
    for (let index = 0; index < this.#inDoubt; index++) if (!this.#queue.at(index)?.isSettled) return
    if (this.#trouble !== undefined) this.#reject(this.#trouble)
  }

  /** Removes canceled records from a refused batch that is not in doubt, so that they are not resent. */
  #dropUnwanted(): void {
    if (this.#count === 0 || this.#inDoubt > 0) return
    const before = this.#queue.length
    for (let index = this.#count - 1; index >= 0; index--)
      if (this.#queue.at(index)?.isSettled === true) this.#queue.removeFrom(index, 1)
    if (this.#queue.length === before) return
    this.#count = 0
    this.#encoded = null
    if (this.isEmpty) this.#clearBatch()
  }

  /** Clears the current batch. */
  #clearBatch(): void {
    this.#phase = 'IDLE'
    this.#count = 0
    this.#encoded = null
    this.#inDoubt = 0
    this.#refusals = 0
    this.#failures = 0
    this.#trouble = undefined
  }

  /** Fails every record sent at that time or earlier. `trouble` is the reason why nothing can be sent now, if known. */
  expire(sentBy: number, trouble: KafkaError | undefined): void {
    const count = this.#queue.countSentBy(sentBy)
    if (count === 0) return
    const held = this.#held
    const cause = trouble ?? this.#trouble
    const unknown = lostAnswerError(this, cause)
    const { deliveryTimeoutMs } = this.#context.options
    const late = lateError(`No write to ${partitionName(this)} within ${deliveryTimeoutMs} ms.`, cause)
    const isUnknown = this.#failFront(Math.min(count, held), unknown)
    const isLate = this.#failBehind(held, count - held, late)
    if (isLate) this.#context.failed(late, this)
    if (isUnknown) this.#context.failed(unknown, this)
    this.#dropIfOver()
  }

  /** Fails every record that is not in flight. Records in doubt fail as UNKNOWN. */
  abandon(error: KafkaError): void {
    const held = this.#held
    if (!this.isInFlight) this.#failFront(held, lostAnswerError(this, error))
    this.#failBehind(held, this.#queue.length - held, error)
    this.#dropIfOver()
  }

  /** Cancels a record. Returns false when it is not queued here. */
  cancel(record: PendingRecord, why: unknown): boolean {
    const index = this.#queue.indexOf(record)
    if (index < 0) return false
    if (record.isSettled) return true
    const isHeld = index < this.#held
    const error = isHeld ? canceledError(this, why) : notSentError(record, why)
    if (isHeld) this.#fail(record, error)
    else this.#failBehind(index, 1, error)
    this.#context.failed(error, this)
    this.#dropIfOver()
    return true
  }

  /** The number of records from the front that must stay queued, because they are in flight or in doubt. */
  get #held(): number {
    return Math.max(this.#inDoubt, this.isInFlight ? this.#count : 0)
  }

  /** Fails records that stay queued. Returns true if any was not settled before. */
  #failFront(count: number, error: KafkaError): boolean {
    let hasFailed = false
    for (let index = 0; index < count; index++) {
      const record = this.#queue.at(index)
      if (record === undefined || record.isSettled) continue
      this.#fail(record, error)
      hasFailed = true
    }
    return hasFailed
  }

  /** Fails records and removes them from the queue. */
  #failBehind(index: number, count: number, error: KafkaError): boolean {
    if (count <= 0) return false
    // The rest of the current batch forms a new batch.
    if (index < this.#count) {
      this.#count = 0
      this.#encoded = null
      this.#refusals = 0
    }
    for (const record of this.#queue.removeFrom(index, count)) this.#fail(record, error)
    if (this.#queue.length === 0) this.#clearBatch()
    return true
  }

  #fail(record: PendingRecord, error: KafkaError): void {
    if (record.isSettled) return
    record.failed(error)
    this.#context.settled(record)
  }
}

/**
 * Returns false only when the request was certainly not sent: an unexpected failure may occur while a response is read.
 */
function mayBeWritten({ cause }: KafkaError): boolean {
  return cause !== undefined && !(cause instanceof TransportError && cause.outcome === 'NOT_SENT')
}
