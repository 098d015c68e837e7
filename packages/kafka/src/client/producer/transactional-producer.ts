/**
 * Records and offsets that appear together or not at all.
 *
 *     READY ──begin──▶ OPEN ──commit──▶ READY
 *                       ├─ abort ─────▶ READY
 *                       └─ a send or sendOffsets fails ──▶ BROKEN ── abort, or commit, which aborts and throws ──▶ READY
 *     any ── fenced, or an end that nobody knows ──▶ DEAD
 *
 * The first `begin` takes the next epoch of the transactional id: from then on whatever an earlier incarnation sends is
 * refused, and what it left open is aborted.
 *
 * Doubt is answered with a new epoch. A request whose answer was lost may still be on its way to the coordinator and
 * would be taken for one of the next transaction: a late EndTxn would commit half of it. So before the next transaction
 * the own id takes its next epoch, and everything older is refused. The same after a failed send, whose sequence nobody
 * knows. Only a commit itself cannot be saved so: whether it happened is for the next incarnation to find out.
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

/** Writes and commits offsets atomically. One transaction at a time. */
export interface TransactionalProducer extends Producer {
  begin(): Promise<void>
  sendOffsets(offsets: readonly OffsetCommit[], group: GroupMetadata): Promise<void>
  /** Rejects with kind UNKNOWN when the answer is lost: discard the producer, the next incarnation decides. */
  commit(): Promise<void>
  abort(): Promise<void>
}

/** Makes a {@link TransactionalProducer}. Of one transactional id only the one that began last works. */
export function createTransactionalProducer(
  deps: ProducerDeps,
  transactionalId: string,
  options: TransactionalProducerOptions = {},
): TransactionalProducer {
  return new CoordinatedProducer(deps, transactionalId, options)
}

/** BUSY while a call of begin, commit or abort is under way. */
type State = 'READY' | 'OPEN' | 'BROKEN' | 'BUSY' | 'DEAD'

class CoordinatedProducer implements TransactionalProducer {
  readonly #transactionalId: string
  readonly #loop: SendLoop
  readonly #coordinator: TransactionCoordinator
  readonly #partitions: TransactionPartitions
  #state: State = 'READY'
  #identity: ProducerIdentity | null = null
  /** The epoch was used in a way that leaves a doubt. */
  #isStale = false
  /** The coordinator may know of this transaction. */
  #isBegun = false
  #failure: KafkaError | null = null
  #death: KafkaError | null = null
  /** The last `sendOffsets` and all before it. Rejects never. */
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
      failed: (error) => this.#fail(error),
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
    this.#offsetsSent = sent.catch(() => {}) // Its caller is told.
    await sent
  }

  /** Whoever gives an offset that is none may go on without it; what was read would then be read again. */
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
      // One that has to be repeated would otherwise arrive after a later one, and the lower offset would stay.
      await former
      // After the partitions that are being added: the coordinator does one thing at a time.
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
      // Whatever is still asked for could fail while the end is on its way, and a commit would be told as none.
      await this.#partitions.settled()
      await this.#offsetsSent
      if (this.#failure === null && this.#isBegun) await this.#end()
      if (this.#failure === null) return
      const failure = this.#abortable(this.#failure)
      await this.#rollBack()
      throw failure
    })
  }

  /** Does nothing when no transaction is open: `commit` may have aborted it already. */
  async abort(): Promise<void> {
    if (this.#state !== 'READY') await this.#operate(['OPEN', 'BROKEN'], 'abort', () => this.#rollBack())
  }

  flush(): Promise<void> {
    return this.#loop.flush()
  }

  /** Aborts what is open. */
  close(): Promise<void> {
    return (this.#closing ??= this.#close())
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #close(): Promise<void> {
    await this.#operation.catch(() => {}) // Its caller was told.
    // What cannot be aborted now is aborted by its time-out, or by the next incarnation.
    if (this.#state === 'OPEN' || this.#state === 'BROKEN') await this.abort().catch(() => {})
    this.#die(closedError())
    this.#loop.stop(closedError())
  }

  /** One call at a time moves the state; it ends in READY unless it says otherwise. */
  #operate(from: readonly State[], what: string, run: () => Promise<void>): Promise<void> {
    if (!from.includes(this.#state)) return Promise.reject(this.#refusal(what))
    this.#state = 'BUSY'
    this.#operation = run().finally(() => {
      if (this.#state === 'BUSY') this.#state = 'READY'
    })
    return this.#operation
  }

  /** Commits. Sets the failure when it is certain that nothing was committed; throws when nobody can go on. */
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
    // Where a doubt is left, the next `begin` takes another epoch before anything is sent.
    this.#loop.resume(null)
  }

  async #endAborted(): Promise<void> {
    try {
      await this.#coordinator.end(this.#ownIdentity(), false)
    } catch (error) {
      // It never heard of this transaction: a request of ours may have been lost.
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
   * What the transaction's caller is told of something that failed in it. Nothing more is sent: what is given back for
   * that was not refused itself, so its cause is the broken transaction and not what broke it.
   */
  #fail(error: KafkaError): KafkaError {
    if (this.#death !== null) return this.#death
    this.#isStale = true
    this.#failure ??= error
    if (error.kind === 'FENCED') return this.#die(error)
    if (this.#state === 'OPEN') this.#state = 'BROKEN'
    const told = error.kind === 'ABORTABLE' ? error : this.#abortable(error)
    void this.#loop.halt(this.#abortable(told))
    return told
  }

  #die(error: KafkaError): KafkaError {
    this.#death ??= error
    this.#state = 'DEAD'
    void this.#loop.halt(this.#death)
    return this.#death
  }

  #ownIdentity(): ProducerIdentity {
    if (this.#identity === null) throw new StateError('A transaction needs an identity.')
    return this.#identity
  }

  #refusal(what: string): KafkaError | StateError {
    if (this.#death !== null) return this.#death
    if (this.#state === 'BROKEN' && this.#failure !== null) return this.#abortable(this.#abortable(this.#failure))
    const state = this.#state === 'OPEN' ? 'a transaction is open' : 'no transaction is open'
    return new StateError(`Cannot ${what}: ${this.#state === 'BUSY' ? 'a call has not come to its end' : state}.`)
  }

  #abortable(cause: KafkaError): KafkaError {
    return new KafkaError(`A transaction of ${this.#transactionalId} cannot be committed.`, 'ABORTABLE', {
      cause,
      impact: 'Nothing of it becomes visible.',
      hint: 'Abort it and begin another.',
      ...(cause.reason === undefined ? {} : { reason: cause.reason }),
    })
  }

  #aborted(): KafkaError {
    return new KafkaError(`The transaction of ${this.#transactionalId} was aborted.`, 'ABORTABLE', {
      impact: 'Nothing of it becomes visible.',
    })
  }

  #unended(cause: KafkaError): KafkaError {
    return new KafkaError(`A transaction of ${this.#transactionalId} cannot be aborted now.`, 'FATAL', {
      cause,
      impact: 'Nothing of it becomes visible: it ends with its time-out, or with the next incarnation.',
      hint: 'Discard this producer and make another of the same id.',
    })
  }

  #unknownEnd(cause: KafkaError): KafkaError {
    return new KafkaError(`The answer to the commit of ${this.#transactionalId} is lost.`, 'UNKNOWN', {
      cause,
      impact: 'All of the transaction becomes visible, or nothing.',
      hint: 'Discard this producer; make another of the same id and look at the committed offsets.',
    })
  }
}
