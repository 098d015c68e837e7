/**
 * Writes records and offsets atomically.
 *
 *     READY ──begin──▶ OPEN ──commit──▶ READY
 *                       ├─ abort ─────▶ READY
 *                       └─ a send or sendOffsets fails ──▶ BROKEN ── abort, or commit, which aborts and throws ──▶ READY
 *     any ── fenced, or an unknown commit outcome ──▶ DEAD
 *
 * The first `begin` obtains the next epoch of the transactional id. From then on the broker refuses requests of earlier
 * instances and aborts their open transactions.
 *
 * Any doubt is resolved with a new epoch. A request whose response was lost may still be in flight, and would count
 * toward the next transaction: a late EndTxn would commit half of it. So the producer obtains its next epoch before the
 * next transaction, and everything older is refused. It does the same after a failed send, whose sequence is unknown.
 * Only a commit cannot be resolved this way: the next instance must find out whether it happened.
 */

import { StateError } from '@waybill/core'
import { checkOffset } from '../cluster/check-offset.ts'
import type { GroupMetadata } from '../cluster/group-metadata.ts'
import { KafkaError, toKafkaError } from '../cluster/kafka-error.ts'
import type { OffsetCommit } from '../cluster/offset-commit.ts'
import type { ProducerDeps } from './coordinator-call.ts'
import type { OutRecord, Producer, SendOptions, SendResult } from './producer.ts'
import type { ProducerIdentity } from './producer-identity.ts'
import { resolveTransactionalProducerOptions, type TransactionalProducerOptions } from './producer-options.ts'
import { closedError } from './send-error.ts'
import { SendLoop } from './send-loop.ts'
import { TransactionCoordinator } from './transaction-coordinator.ts'
import { TransactionPartitions } from './transaction-partitions.ts'

/** Writes records and commits offsets atomically, one transaction at a time. */
export interface TransactionalProducer extends Producer {
  begin(): Promise<void>
  sendOffsets(offsets: readonly OffsetCommit[], group: GroupMetadata): Promise<void>
  /** Rejects with kind UNKNOWN when the response is lost: discard the producer and create another with the same id. */
  commit(): Promise<void>
  abort(): Promise<void>
}

/**
 * Creates a {@link TransactionalProducer}. Of several with one transactional id, only the one that began last works.
 */
export function createTransactionalProducer(
  deps: ProducerDeps,
  transactionalId: string,
  options: TransactionalProducerOptions = {},
): TransactionalProducer {
  return new CoordinatedProducer(deps, transactionalId, options)
}

/** The state; BUSY while a call of begin, commit or abort is pending. */
type State = 'READY' | 'OPEN' | 'BROKEN' | 'BUSY' | 'DEAD'

class CoordinatedProducer implements TransactionalProducer {
  readonly #transactionalId: string
  readonly #loop: SendLoop
  readonly #coordinator: TransactionCoordinator
  readonly #partitions: TransactionPartitions
  #state: State = 'READY'
  #identity: ProducerIdentity | null = null
  /** True when the outcome of a request under this epoch is unknown. */
  #isStale = false
  /** True when the coordinator may know this transaction. */
  #isBegun = false
  #failure: KafkaError | null = null
  #death: KafkaError | null = null
  /** Settles with the last `sendOffsets` and all before it. Never rejects. */
  #offsetsSent: Promise<void> = Promise.resolve()
  #operation: Promise<void> = Promise.resolve()
  #closing: Promise<void> | undefined

  constructor(deps: ProducerDeps, transactionalId: string, options: TransactionalProducerOptions) {
    const resolved = resolveTransactionalProducerOptions(options)
    this.#transactionalId = transactionalId
    this.#partitions = new TransactionPartitions({
      add: (partitions) => {
        this.#isBegun = true
        return this.#coordinator.addPartitions(this.#ownIdentity(), partitions)
      },
      added: () => this.#loop.wake(),
      failed: (error, refused) => {
        // Records of refused partitions fail with the refusal itself, the others with the broken transaction.
        this.#loop.failPartitions(refused, error)
        this.#fail(error)
      },
    })
    this.#loop = new SendLoop(deps, resolved, {
      transactionalId,
      raisesEpoch: false,
      trouble: undefined,
      identity: () => this.#identity,
      spent: () => {},
      admits: (sender) => this.#partitions.admits(sender),
      failed: (error) => this.#fail(error),
    })
    this.#coordinator = new TransactionCoordinator(deps, transactionalId, resolved.transactionTimeoutMs, {
      deadlineMs: resolved.deliveryTimeoutMs,
      requestTimeoutMs: resolved.requestTimeoutMs,
      signal: this.#loop.signal,
      onDoubt: () => {
        this.#isStale = true
      },
    })
  }

  begin(): Promise<void> {
    return this.#operate(['READY'], 'begin a transaction', async () => {
      if (this.#identity === null || this.#isStale) await this.#renew()
      this.#partitions.clear()
      this.#failure = null
      this.#isBegun = false
      this.#state = 'OPEN'
    })
  }

  send(record: OutRecord, options?: SendOptions): Promise<SendResult> {
    if (this.#state !== 'OPEN') return Promise.reject(this.#refusal('send'))
    return this.#loop.send(record, options).catch((error: unknown) => {
      throw this.#fail(toKafkaError(`Cannot write to ${record.topic}`, error))
    })
  }

  async sendOffsets(offsets: readonly OffsetCommit[], group: GroupMetadata): Promise<void> {
    if (this.#state !== 'OPEN') throw this.#refusal('send offsets')
    if (offsets.length === 0) return
    this.#checkOffsets(offsets)
    this.#isBegun = true
    const sent = this.#sendOffsets([...offsets], group, this.#offsetsSent)
    this.#offsetsSent = sent.catch(() => {}) // The caller has the error.
    await sent
  }

  /**
   * Fails the transaction on an invalid offset. The caller could otherwise commit without it, and its records would be
   * delivered again.
   */
  #checkOffsets(offsets: readonly OffsetCommit[]): void {
    try {
      for (const one of offsets) checkOffset(one, one.offset)
    } catch (error) {
      this.#fail(toKafkaError('Cannot commit offsets', error))
      throw error
    }
  }

  async #sendOffsets(offsets: readonly OffsetCommit[], group: GroupMetadata, former: Promise<void>): Promise<void> {
    try {
      // Otherwise a retried call could arrive after a later one, and the lower offset would remain.
      await former
      // Wait for pending partitions: the coordinator processes one request at a time.
      await this.#partitions.settled()
      if (this.#failure !== null) throw this.#failure
      await this.#coordinator.commitOffsets(this.#ownIdentity(), offsets, group)
    } catch (error) {
      throw this.#fail(toKafkaError(`Cannot commit offsets of group ${group.groupId}`, error))
    }
  }

  commit(): Promise<void> {
    return this.#operate(['OPEN', 'BROKEN'], 'commit', async () => {
      await this.#loop.flush()
      // A pending request could fail while EndTxn is in flight, and a successful commit would be reported as failed.
      await this.#partitions.settled()
      await this.#offsetsSent
      if (this.#failure === null && this.#isBegun) await this.#end()
      if (this.#failure === null) return
      const failure = this.#abortable(this.#failure)
      await this.#rollBack()
      throw failure
    })
  }

  /** Aborts. Does nothing when no transaction is open: `commit` may have aborted it already. */
  async abort(): Promise<void> {
    if (this.#state !== 'READY') await this.#operate(['OPEN', 'BROKEN'], 'abort', () => this.#rollBack())
  }

  flush(): Promise<void> {
    return this.#loop.flush()
  }

  /** Aborts the open transaction and closes the producer. */
  close(): Promise<void> {
    return (this.#closing ??= this.#close())
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #close(): Promise<void> {
    await this.#operation.catch(() => {}) // The caller has the error.
    // If the abort fails, the transaction timeout or the next instance aborts it.
    if (this.#state === 'OPEN' || this.#state === 'BROKEN') await this.abort().catch(() => {})
    this.#die(closedError())
    this.#loop.stop(closedError())
  }

  /** Runs one state-changing call at a time. It ends in READY unless it sets another state. */
  #operate(from: readonly State[], what: string, run: () => Promise<void>): Promise<void> {
    if (!from.includes(this.#state)) return Promise.reject(this.#refusal(what))
    this.#state = 'BUSY'
    this.#operation = run().finally(() => {
      if (this.#state === 'BUSY') this.#state = 'READY'
    })
    return this.#operation
  }

  /** Commits. Sets the failure when the commit certainly failed; throws when the producer is unusable. */
  async #end(): Promise<void> {
    const wasStale = this.#isStale
    this.#isStale = false
    try {
      await this.#coordinator.end(this.#ownIdentity(), true)
    } catch (thrown) {
      const error = toKafkaError('Cannot commit', thrown)
      if (this.#isStale || error.kind === 'UNKNOWN') throw this.#die(this.#unknownEnd(error))
      if (error.kind === 'FENCED') throw this.#die(error)
      this.#failure = error
    } finally {
      this.#isStale ||= wasStale
    }
  }

  async #rollBack(): Promise<void> {
    if (this.#death !== null) throw this.#death
    await this.#loop.halt(this.#aborted())
    await this.#partitions.settled()
    await this.#offsetsSent
    try {
      if (this.#isBegun) await this.#endAborted()
    } catch (thrown) {
      const error = toKafkaError('Cannot abort', thrown)
      throw this.#die(error.kind === 'FENCED' ? error : this.#unended(error))
    }
    // In doubt, the next `begin` obtains another epoch before anything is sent.
    this.#loop.resume(null)
  }

  async #endAborted(): Promise<void> {
    try {
      await this.#coordinator.end(this.#ownIdentity(), false)
    } catch (error) {
      // The coordinator does not know this transaction: a request may have been lost.
      if (!(error instanceof KafkaError && error.reason === 'INVALID_TXN_STATE')) throw error
      this.#isStale = true
    }
  }

  async #renew(): Promise<void> {
    try {
      this.#identity = await this.#coordinator.nextIdentity(this.#identity)
    } catch (thrown) {
      const error = toKafkaError('Cannot begin', thrown)
      throw error.kind === 'FENCED' ? this.#die(error) : error
    }
    this.#isStale = false
    this.#loop.resume(this.#identity)
  }

  /**
   * Returns the error for the caller of a failed operation, and breaks the transaction. Queued records then fail with
   * the broken transaction as their cause, since they were not refused themselves.
   */
  #fail(error: KafkaError): KafkaError {
    if (this.#death !== null) return this.#death
    this.#isStale = true
    this.#failure ??= error
    if (error.kind === 'FENCED') return this.#die(error)
    if (this.#state === 'OPEN') this.#state = 'BROKEN'
    const reported = error.kind === 'ABORTABLE' ? error : this.#abortable(error)
    void this.#loop.halt(this.#abortable(reported))
    return reported
  }

  #die(error: KafkaError): KafkaError {
    this.#death ??= error
    this.#state = 'DEAD'
    void this.#loop.halt(this.#death)
    return this.#death
  }

  #ownIdentity(): ProducerIdentity {
    if (this.#identity === null) throw new StateError('A transaction needs a producer id.')
    return this.#identity
  }

  #refusal(what: string): KafkaError | StateError {
    if (this.#death !== null) return this.#death
    if (this.#state === 'BROKEN' && this.#failure !== null) return this.#abortable(this.#abortable(this.#failure))
    const state = this.#state === 'OPEN' ? 'a transaction is open' : 'no transaction is open'
    return new StateError(`Cannot ${what}: ${this.#state === 'BUSY' ? 'another call is pending' : state}.`)
  }

  #abortable(cause: KafkaError): KafkaError {
    return new KafkaError(`A transaction of ${this.#transactionalId} cannot be committed.`, 'ABORTABLE', {
      cause,
      impact: 'None of its records become visible.',
      hint: 'Abort it and begin another.',
      ...(cause.reason === undefined ? {} : { reason: cause.reason }),
    })
  }

  #aborted(): KafkaError {
    return new KafkaError(`The transaction of ${this.#transactionalId} was aborted.`, 'ABORTABLE', {
      impact: 'None of its records become visible.',
    })
  }

  #unended(cause: KafkaError): KafkaError {
    return new KafkaError(`A transaction of ${this.#transactionalId} cannot be aborted now.`, 'FATAL', {
      cause,
      impact: 'None of its records become visible: it ends with its timeout, or with the next producer of this id.',
      hint: 'Discard this producer and create another with the same id.',
    })
  }

  #unknownEnd(cause: KafkaError): KafkaError {
    return new KafkaError(`The response to the commit of ${this.#transactionalId} is lost.`, 'UNKNOWN', {
      cause,
      impact: 'Either the whole transaction becomes visible, or none of it.',
      hint: 'Discard this producer, create another with the same id, and check the committed offsets.',
    })
  }
}
