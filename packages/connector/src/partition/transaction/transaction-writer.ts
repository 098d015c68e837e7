/**
 * Writes the transactions of one partition, one at a time, until each is committed: outputs, retry and dead letter records,
 * and the offset behind the records they were made of (I13).
 *
 *     WRITING ── begin ▸ send, sendOffsets ▸ commit ── committed ──▶ done
 *        ▲          ├─ a topic refuses a record permanently ──▶ aborted; the caller decides what to write instead
 *        │          ├─ anything else that failed ──▶ aborted, WAITING 50 ms … 5 s, then the same once more; after three
 *        │          │  failures the caller decides whether less of it is written
 *        └──────────┴─ fenced, or an unknown outcome ──▶ DOUBT
 *     DOUBT ── still a member ▸ another producer begins, which ends the old transaction either way ▸ read what is committed
 *        ├─ what this transaction commits ──▶ done
 *        ├─ what was committed before ──▶ WRITING
 *        └─ anything else: the group was reset ──▶ the member releases its partitions and starts again
 *
 * | failure | known | action |
 * |---|---|---|
 * | begin: no answer | nothing was written | again |
 * | send, sendOffsets: refused, late, rebalancing | nothing of it will be visible | abort, again |
 * | abort: no answer | the same | another producer |
 * | commit: no answer | all of it is visible, or nothing | DOUBT |
 * | fenced: a newer owner, or the transaction timed out | nothing of it is visible, unless its commit was on its way | DOUBT |
 * | the partition is lost or drained too late | the next owner ends what is open, before it reads the offset | stop |
 */

import { type Runtime, StateError } from '@waybill/core'
import { abortReason, type BackoffPolicy, backoffMs } from '@waybill/core/internal'
import {
  type Consumer,
  KafkaError,
  type OutRecord,
  type TopicPartition,
  type TransactionalProducer,
} from '@waybill/kafka'
import { type OffsetCommit } from '@waybill/kafka/internal'
import { TransactionError } from './transaction-error.ts'

/** The collaborators of a writer. */
export interface WriterDeps {
  readonly at: TopicPartition
  readonly runtime: Runtime
  readonly consumer: Pick<Consumer, 'committed' | 'groupMetadata' | 'confirmMembership'>
  /** Creates a producer of the partition's id. Its first `begin` fences earlier producers. */
  readonly createProducer: () => TransactionalProducer
  /** Called when a transaction has failed several times and is retried. */
  readonly troubled: (error: Error) => void
}

/** One transaction. */
export interface Transaction {
  /** The records to write, for each record that was read. */
  readonly parts: readonly (readonly OutRecord[])[]
  readonly offset: OffsetCommit
}

/**
 * The result of a transaction. OVER: the writer was stopped. REFUSED: nothing was written because of these parts, by their
 * index. TOO_MUCH: nothing was written, several times: it may be more than can be written in its time.
 */
export type Written =
  | { readonly kind: 'COMMITTED' }
  | { readonly kind: 'OVER' }
  | { readonly kind: 'TOO_MUCH' }
  | { readonly kind: 'REFUSED'; readonly refusals: ReadonlyMap<number, KafkaError> }

const committed: Written = Object.freeze({ kind: 'COMMITTED' })
const over: Written = Object.freeze({ kind: 'OVER' })
const tooMuch: Written = Object.freeze({ kind: 'TOO_MUCH' })

const backoff: BackoffPolicy = { initialMs: 50, multiplier: 2, maxMs: 5_000, jitterExceedsMax: false }
/** A rebalance or a leader change may abort a transaction or two, which is not reported. */
const impatience = 3

/** See the file's comment. */
export class TransactionWriter {
  readonly #deps: WriterDeps
  readonly #ended = new AbortController()
  /** The committed offset of the partition; null if there is none. */
  #committed: bigint | null
  #producer: TransactionalProducer | undefined
  /** A producer was discarded: its last transaction may or may not be committed. */
  #isInDoubt = false

  constructor(deps: WriterDeps, committedOffset: bigint | null) {
    this.#deps = deps
    this.#committed = committedOffset
  }

  /** Writes a transaction. Rejects only if the group was reset, and for bugs. */
  async write(transaction: Transaction): Promise<Written> {
    for (let failures = 0; ; ) {
      try {
        return await this.#attempt(transaction, failures)
      } catch (error) {
        if (this.#ended.signal.aborted) return over
        if (!(error instanceof KafkaError)) throw error
        await this.#giveUp(error)
        if (++failures >= impatience) this.#deps.troubled(new TransactionError(this.#deps.at, error))
        if (!(await this.#pause(failures))) return over
      }
    }
  }

  /** Stops: the partition is lost. Aborts the open transaction if possible. Never rejects. */
  async stop(): Promise<void> {
    this.#ended.abort(new StateError('The partition is not owned any more.'))
    await this.#discard()
  }

  async #attempt(transaction: Transaction, failures: number): Promise<Written> {
    const { failpoint } = this.#deps.runtime
    const producer = await this.#begin()
    if (this.#isInDoubt && (await this.#isCommitted(transaction.offset))) {
      await producer.abort()
      return this.#settled(transaction)
    }
    if (failures >= impatience && transaction.parts.length > 1) {
      await producer.abort()
      return tooMuch
    }
    await failpoint('transaction.begun')
    const refusals = await this.#send(producer, transaction)
    if (refusals.size > 0) {
      await producer.abort()
      return { kind: 'REFUSED', refusals }
    }
    await failpoint('transaction.sent')
    this.#assertRunning()
    await producer.commit()
    await failpoint('transaction.committed')
    return this.#settled(transaction)
  }

  #settled({ offset }: Transaction): Written {
    this.#committed = offset.offset
    return committed
  }

  async #begin(): Promise<TransactionalProducer> {
    this.#assertRunning()
    if (this.#producer === undefined) {
      // A former member would only fence the next owner.
      if (this.#isInDoubt && !(await this.#deps.consumer.confirmMembership())) throw this.#notAMember()
      this.#assertRunning()
      this.#producer = this.#deps.createProducer()
    }
    const producer = this.#producer
    await producer.begin()
    this.#assertRunning()
    return producer
  }

  /** Returns true if the last transaction is committed. Rejects for a position that neither result explains. */
  async #isCommitted({ offset }: OffsetCommit): Promise<boolean> {
    const { at, consumer } = this.#deps
    const [found] = await consumer.committed([at])
    const position = found?.offset ?? null
    if (position !== offset && position !== this.#committed)
      throw new StateError(
        `${at.topic}-${at.partition} has ${position} committed, where ${this.#committed} or ${offset} was due.`,
        {
          impact: 'Nothing was written that is not committed with its offset.',
          hint: 'Find the program that moves the offsets of this group while it runs.',
        },
      )
    this.#isInDoubt = false
    return position === offset
  }

  /** Sends everything at once: the producer keeps the order of each partition, and a commit needs all of it anyway. */
  async #send(producer: TransactionalProducer, { parts, offset }: Transaction): Promise<Map<number, KafkaError>> {
    const group = this.#deps.consumer.groupMetadata()
    const sends = parts.flatMap((records, part) =>
      records.map(async (record) => {
        try {
          await producer.send(record)
          return undefined
        } catch (error) {
          return { part, error }
        }
      }),
    )
    const offsets = producer.sendOffsets([offset], group).then(
      () => undefined,
      (error: unknown) => ({ part: -1, error }),
    )
    const results = await Promise.all([...sends, offsets])
    const failures = results.filter((result) => result !== undefined)
    const refusals = new Map<number, KafkaError>()
    for (const { part, error } of failures) {
      const refusal = part < 0 ? undefined : refusalOf(error)
      if (refusal !== undefined) refusals.set(part, refusal)
    }
    const [first] = failures
    if (refusals.size === 0 && first !== undefined) throw first.error
    return refusals
  }

  /** Aborts the transaction after a failure, or discards its producer. */
  async #giveUp(error: KafkaError): Promise<void> {
    if (error.kind === 'FENCED' || error.kind === 'UNKNOWN') {
      this.#isInDoubt = true
      return this.#discard()
    }
    try {
      await this.#producer?.abort()
    } catch {
      // The next producer completes what it could not.
      this.#isInDoubt = true
      await this.#discard()
    }
    return undefined
  }

  async #discard(): Promise<void> {
    const producer = this.#producer
    this.#producer = undefined
    // The next producer of this id completes what it could not.
    await producer?.close().catch(() => {})
  }

  /** Returns false if the writer was stopped meanwhile. */
  async #pause(failures: number): Promise<boolean> {
    const { timers, random } = this.#deps.runtime
    try {
      await timers.sleep(backoffMs(backoff, failures, random), this.#ended.signal)
      return true
    } catch {
      return false
    }
  }

  #assertRunning(): void {
    if (this.#ended.signal.aborted) throw abortReason(this.#ended.signal)
  }

  #notAMember(): KafkaError {
    return new KafkaError('The group does not say that this is still a member.', 'REBALANCING')
  }
}

/**
 * Returns the error of a topic that refuses a record permanently. A refused send leaves its transaction to be aborted, with
 * its own reason as the cause. A topic or partition that the producer has waited for in vain counts as missing: one record
 * must not stall a partition (L2).
 */
function refusalOf(error: unknown): KafkaError | undefined {
  const cause = error instanceof KafkaError ? error.cause : undefined
  // A send that was returned because another one broke the transaction has that as its cause, and its reason too.
  if (!(cause instanceof KafkaError) || cause.kind === 'ABORTABLE') return undefined
  return cause.kind === 'FATAL' || cause.reason === 'UNKNOWN_TOPIC_OR_PARTITION' ? cause : undefined
}
