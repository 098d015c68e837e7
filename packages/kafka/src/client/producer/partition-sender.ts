/**
 * One partition's way from queue to log: at most one request in flight, so that no batch can overtake another.
 *
 *             start                 WRITTEN: sequence += count
 *     IDLE ──────────▶ IN_FLIGHT ─────────────────────────────▶ IDLE
 *                          │
 *                          ├─ no answer, DOUBTFUL ───▶ BACKING_OFF, and the front is in doubt
 *                          ├─ not sent, LATER ───────▶ BACKING_OFF          (LATER more often than allowed: rejected)
 *                          ├─ CONTENT, 2 or more ────▶ IDLE, batches half as large until one is written
 *                          ├─ SEQUENCE, no doubt ────▶ BACKING_OFF, under the next epoch
 *                          ├─ SEQUENCE, in doubt ────▶ BACKING_OFF
 *                          └─ CONTENT of one, REFUSED, FENCED ──▶ rejected, IDLE
 *
 *     BACKING_OFF ──start──▶ IN_FLIGHT   the same records, id, epoch and sequence: the broker knows a repeat by them
 *
 * A batch is a prefix of the queue, and records leave the queue only with their result. `inDoubt` counts the records
 * from the front that some attempt with the current sequence may have written. While it is not 0 the front of the
 * queue does not change, whoever has given up waiting: a sequence that was written for some records and then used for
 * others would make the broker drop these as repeats. It ends in one of two ways. The broker accepts the sequence, or
 * knows it: then everything before it is settled. Or every record in doubt has had its time: their callers are told
 * UNKNOWN, and the partition goes on under the next epoch, whose first batch makes the broker refuse the doubtful one
 * for good should it still be on its way.
 *
 * SEQUENCE although we count right: the log lost batches that were acknowledged (an unclean election), or an old leader
 * that does not know yet that it is none answers from a shorter log. Without doubt the batch is in neither log, and
 * sending it under the next epoch cannot make two of it. In doubt it may be in the log of the other leader; so it is
 * repeated as it was, with fresh metadata, until that leader says so or its time is over.
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
import { givenUpError, lateError, lostAnswerError, takenBackError, unencodableError } from './send-error.ts'

/** How an attempt ended: the broker's answer, or the error of a request that has none. */
export type AttemptResult =
  | { readonly code: number; readonly message: string | null; readonly baseOffset: bigint }
  | { readonly error: KafkaError }

/** What a sender shares with all others of its producer, and tells it. */
export interface SenderContext {
  readonly options: ResolvedProducerOptions
  readonly random: Random
  /** Batches belong to a transaction. */
  readonly isTransactional: boolean
  /** The epoch is ours to raise. Otherwise a sender without a sure sequence stands still until it is given another. */
  readonly raisesEpoch: boolean
  /** A record has its result. */
  settled(record: PendingRecord): void
  /** A producer id has no higher epoch any more. */
  spent(identity: ProducerIdentity): void
  /** Callers were told that their records failed, or are unknown. Records behind them are still there. */
  failed(error: KafkaError, sender: PartitionSender): void
}

type Phase = 'IDLE' | 'IN_FLIGHT' | 'BACKING_OFF'

/** Sends the records of one partition in their order. Makes no requests: whoever does calls `start` and `finish`. */
export class PartitionSender {
  readonly topic: string
  readonly partition: number
  readonly #context: SenderContext
  readonly #queue: RecordQueue = new RecordQueue()
  #phase: Phase = 'IDLE'
  #identity: ProducerIdentity | null = null
  #sequence = 0
  /** The batch in hand: how many records, and their bytes for as long as those are right. */
  #count = 0
  #encoded: Buffer | null = null
  #inDoubt = 0
  #refusals = 0
  #failures = 0
  #repeatAt = 0
  /** Most records in a batch; lower while one that the broker will never accept is being found. */
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

  /** It failed last time: better sent apart from those that did not. */
  get isRepeat(): boolean {
    return this.#failures > 0
  }

  /** It has records that wait for nothing but company. */
  get isLingering(): boolean {
    return this.#phase === 'IDLE' && !this.isEmpty
  }

  get needsIdentity(): boolean {
    return this.#identity === null
  }

  /** When the oldest record without a result was sent. */
  get oldestSentAt(): number | undefined {
    for (let index = 0; ; index++) {
      const record = this.#queue.at(index)
      if (record === undefined || !record.isSettled) return record?.sentAt
    }
  }

  enqueue(record: PendingRecord): void {
    this.#queue.push(record)
  }

  /** How long until `start` may be called; Infinity while there is nothing to send or something in flight. */
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

  /** Begins from sequence 0 under another identity. Nothing may be in flight or in doubt. */
  identify(identity: ProducerIdentity): void {
    this.#identity = identity
    this.#sequence = 0
    this.#encoded = null
  }

  /** Forgets the identity: nothing is sent before `identify`. */
  forgetIdentity(): void {
    this.#identity = null
    this.#encoded = null
  }

  /** The batch to send now; null when it cannot be made: its callers have been told, and nothing is in flight. */
  start(identity: ProducerIdentity): Buffer | null {
    if (this.#identity === null) this.identify(identity)
    if (this.#count === 0) this.#count = batchCount(this.#queue, this.#context.options.batchBytes, this.#limit)
    try {
      this.#encoded ??= this.#encode(this.#identity ?? identity)
    } catch (error) {
      this.#reject(unencodableError(this, error))
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

  /** Takes the result of what `start` gave out. */
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
      this.#written(answer)
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

  #written({ code, baseOffset }: { readonly code: number; readonly baseOffset: bigint }): void {
    const count = this.#count
    this.#sequence = sequenceAfter(this.#sequence, count)
    this.#limit *= 2
    this.#putDown()
    // The broker knows that it has them, but no longer where.
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

  /** A refusal while in doubt settles nothing, so it does not count. */
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

  /** Gives the batch in hand back, with everything that is in doubt. */
  #reject(error: KafkaError): void {
    const count = Math.max(this.#count, this.#inDoubt)
    const isInDoubt = this.#inDoubt > 0
    // Fenced says more than unknown: whoever comes next must look into the log anyway.
    const told = isInDoubt && error.kind !== 'FENCED' ? lostAnswerError(this, error) : error
    if (isInDoubt) this.#raiseEpoch()
    this.#putDown()
    for (const record of this.#queue.removeFrom(0, count)) this.#fail(record, told)
    this.#context.failed(told, this)
  }

  /** Everyone whose record is in doubt has been told so. Not while another attempt may still settle it. */
  #dropIfOver(): void {
    if (this.#phase === 'IN_FLIGHT' || this.#inDoubt === 0) return
    for (let index = 0; index < this.#inDoubt; index++) if (!this.#queue.at(index)?.isSettled) return
    if (this.#trouble !== undefined) this.#reject(this.#trouble)
  }

  /** Refused, and not in doubt: what nobody waits for any more is not sent again. */
  #dropUnwanted(): void {
    if (this.#count === 0 || this.#inDoubt > 0) return
    const before = this.#queue.length
    for (let index = this.#count - 1; index >= 0; index--)
      if (this.#queue.at(index)?.isSettled === true) this.#queue.removeFrom(index, 1)
    if (this.#queue.length === before) return
    this.#count = 0
    this.#encoded = null
    if (this.isEmpty) this.#putDown()
  }

  /** No batch is in hand any more. */
  #putDown(): void {
    this.#phase = 'IDLE'
    this.#count = 0
    this.#encoded = null
    this.#inDoubt = 0
    this.#refusals = 0
    this.#failures = 0
    this.#trouble = undefined
  }

  /** Tells everyone whose record was sent at that time or earlier. `trouble` says why nothing could be sent. */
  expire(sentBy: number, trouble: KafkaError | undefined): void {
    const count = this.#queue.countSentBy(sentBy)
    if (count === 0) return
    const held = this.#held
    const cause = this.#trouble ?? trouble
    const unknown = lostAnswerError(this, cause)
    const { deliveryTimeoutMs } = this.#context.options
    const late = lateError(`No write to ${partitionName(this)} within ${deliveryTimeoutMs} ms.`, cause)
    const isUnknown = this.#failFront(Math.min(count, held), unknown)
    const isLate = this.#failBehind(held, count - held, late)
    if (isLate) this.#context.failed(late, this)
    if (isUnknown) this.#context.failed(unknown, this)
    this.#dropIfOver()
  }

  /** Gives every record back that is not in flight. Those in doubt are reported as such. */
  abandon(error: KafkaError): void {
    const held = this.#held
    if (!this.isInFlight) this.#failFront(held, lostAnswerError(this, error))
    this.#failBehind(held, this.#queue.length - held, error)
    this.#dropIfOver()
  }

  /** Its caller gives it up. False when it is not here. */
  giveUp(record: PendingRecord, why: unknown): boolean {
    const index = this.#queue.indexOf(record)
    if (index < 0) return false
    if (record.isSettled) return true
    const isHeld = index < this.#held
    const error = isHeld ? givenUpError(this, why) : takenBackError(record, why)
    if (isHeld) this.#fail(record, error)
    else this.#failBehind(index, 1, error)
    this.#context.failed(error, this)
    this.#dropIfOver()
    return true
  }

  /** How many from the front must stay in the queue because they are in flight or in doubt. */
  get #held(): number {
    return Math.max(this.#inDoubt, this.isInFlight ? this.#count : 0)
  }

  /** They stay in the queue. True when somebody had to be told. */
  #failFront(count: number, error: KafkaError): boolean {
    let isNews = false
    for (let index = 0; index < count; index++) {
      const record = this.#queue.at(index)
      if (record === undefined || record.isSettled) continue
      this.#fail(record, error)
      isNews = true
    }
    return isNews
  }

  /** They leave the queue. */
  #failBehind(index: number, count: number, error: KafkaError): boolean {
    if (count <= 0) return false
    // What is left of the batch in hand is another batch.
    if (index < this.#count) {
      this.#count = 0
      this.#encoded = null
      this.#refusals = 0
    }
    for (const record of this.#queue.removeFrom(index, count)) this.#fail(record, error)
    if (this.#queue.length === 0) this.#putDown()
    return true
  }

  #fail(record: PendingRecord, error: KafkaError): void {
    if (record.isSettled) return
    record.failed(error)
    this.#context.settled(record)
  }
}

/** False only when it is certain: what failed unexpectedly may have failed while an answer was read. */
function mayBeWritten({ cause }: KafkaError): boolean {
  return cause !== undefined && !(cause instanceof TransportError && cause.outcome === 'NOT_SENT')
}
