/**
 * The part of the brokers that coordinates transactions.
 *
 *     Empty ──AddPartitions / AddOffsets──▶ Ongoing ──EndTxn──▶ PrepareCommit | PrepareAbort
 *                                             ▲  │                        │ markers written
 *                                             │  └──time-out, or a        ▼
 *                                             │     new InitProducerId  CompleteCommit | CompleteAbort
 *                                             │     (epoch + 1, abort)    │
 *                                             └──AddPartitions────────────┘
 *
 * EndTxn is answered when the outcome is decided, which is before the markers are in the partitions; until they are, the
 * next transaction is turned away with CONCURRENT_TRANSACTIONS. InitProducerId during a transaction raises the epoch,
 * aborts, and asks the caller to come again: the epoch the caller gets at last is one higher still.
 */

import type { Runtime } from '@waybill/core'
import { errorCode, type InitProducerIdRequest, type TxnOffsetCommitRequest } from '@waybill/kafka/wire'
import type { CoordinatorPlacement } from './coordinator-placement.ts'
import { errorResponses } from './error-response.ts'
import type { Call, RequestHandlers } from './request-handler.ts'
import type { Partition, TopicTable } from './topic-table.ts'

type TransactionState = 'Empty' | 'Ongoing' | 'PrepareCommit' | 'PrepareAbort' | 'CompleteCommit' | 'CompleteAbort'

interface Transaction {
  readonly transactionalId: string
  producerId: bigint
  epoch: number
  /** The epoch before, which a repeated InitProducerId still carries; -1 when its answer cannot have been lost. */
  lastEpoch: number
  timeoutMs: number
  state: TransactionState
  readonly partitions: Set<Partition>
  readonly groups: Set<string>
  timeout: Disposable | null
}

interface ProducerIdentity {
  readonly transactionalId: string
  readonly producerId: bigint
  readonly producerEpoch: number
}

type TransactionApi = 'InitProducerId' | 'AddPartitionsToTxn' | 'AddOffsetsToTxn' | 'EndTxn'

const maxTimeoutMs = 900_000
/** The last epoch a producer id can have; then comes a new id. */
const lastEpoch = 2 ** 15 - 2
const none = -1

/** All transactional ids of a cluster. */
export class TransactionCoordinator {
  readonly #runtime: Runtime
  readonly #topics: TopicTable
  readonly #placement: CoordinatorPlacement
  readonly #markerDelayMs: number
  readonly #endGroup: (groupId: string, producerId: bigint, committed: boolean) => void
  readonly #transactions = new Map<string, Transaction>()
  #nextProducerId = 1_000n

  constructor(parts: {
    runtime: Runtime
    topics: TopicTable
    placement: CoordinatorPlacement
    markerDelayMs: number
    endGroup: (groupId: string, producerId: bigint, committed: boolean) => void
  }) {
    this.#runtime = parts.runtime
    this.#topics = parts.topics
    this.#placement = parts.placement
    this.#markerDelayMs = parts.markerDelayMs
    this.#endGroup = parts.endGroup
  }

  readonly handlers: RequestHandlers<TransactionApi> = {
    InitProducerId: (request, call) => {
      const { transactionalId } = request
      if (transactionalId === null) return newProducer(this.#nextProducerId++, 0)
      const problem = this.#placeProblem(transactionalId, call) ?? initProblem(request)
      if (problem !== null) return errorResponses.InitProducerId(request, problem)
      return this.#init({ ...request, transactionalId })
    },

    AddPartitionsToTxn: (request, call) => {
      const problem = this.#placeProblem(request.transactionalId, call)
      if (problem !== null) return errorResponses.AddPartitionsToTxn(request, problem)
      const asked = request.topics.flatMap(({ name, partitions }) =>
        partitions.map((index) => this.#topics.partition(name, index)),
      )
      if (asked.includes(undefined))
        return {
          topics: request.topics.map(({ name, partitions }) => ({
            name,
            partitions: partitions.map((partitionIndex) => ({
              partitionIndex,
              errorCode:
                this.#topics.partition(name, partitionIndex) === undefined
                  ? errorCode.UNKNOWN_TOPIC_OR_PARTITION
                  : errorCode.OPERATION_NOT_ATTEMPTED,
            })),
          })),
        }
      return errorResponses.AddPartitionsToTxn(
        request,
        this.#add(request, (transaction) => {
          for (const partition of asked as Partition[]) transaction.partitions.add(partition)
        }),
      )
    },

    AddOffsetsToTxn: (request, call) => ({
      errorCode:
        this.#placeProblem(request.transactionalId, call) ??
        this.#add(request, (transaction) => transaction.groups.add(request.groupId)),
    }),

    EndTxn: (request, call) => ({
      errorCode: this.#placeProblem(request.transactionalId, call) ?? this.#end(request, request.committed),
    }),
  }

  /** Whether a producer's transaction includes the partition, as its leader asks before the first batch; else why not. */
  verifyPartition(producer: ProducerIdentity, partition: Partition): number {
    return this.#verify(producer, ({ partitions }) => partitions.has(partition))
  }

  /** The same for a group's offsets. */
  verifyGroup(request: TxnOffsetCommitRequest): number {
    return this.#verify(request, ({ groups }) => groups.has(request.groupId))
  }

  #verify(producer: ProducerIdentity, includes: (transaction: Transaction) => boolean): number {
    const { transaction, problem } = this.#find(producer)
    // Produce and TxnOffsetCommit call a fenced producer by the older name.
    if (problem === errorCode.PRODUCER_FENCED) return errorCode.INVALID_PRODUCER_EPOCH
    if (transaction === null) return problem
    if (isEnding(transaction)) return errorCode.NOT_ENOUGH_REPLICAS // Kafka's way to say: soon.
    return includes(transaction) ? errorCode.NONE : errorCode.TRANSACTION_ABORTABLE
  }

  #init(request: InitProducerIdRequest & { transactionalId: string }): {
    errorCode: number
    producerId: bigint
    producerEpoch: number
  } {
    const { transactionalId, transactionTimeoutMs, producerId, producerEpoch } = request
    const transaction = this.#transactions.get(transactionalId) ?? this.#create(transactionalId)
    if (producerId !== -1n && transaction.epoch !== none && producerId !== transaction.producerId)
      return errorResponses.InitProducerId(request, errorCode.PRODUCER_FENCED)
    if (isEnding(transaction)) return errorResponses.InitProducerId(request, errorCode.CONCURRENT_TRANSACTIONS)
    // Before the epoch is looked at, as in Kafka: even a fenced producer aborts its successor's transaction this way.
    if (transaction.state === 'Ongoing') {
      this.#fenceAndAbort(transaction)
      return errorResponses.InitProducerId(request, errorCode.CONCURRENT_TRANSACTIONS)
    }
    const isOwn = producerEpoch === transaction.epoch || transaction.epoch === none
    const isRepeated = producerEpoch !== none && producerEpoch === transaction.lastEpoch
    if (producerEpoch !== none && !isOwn && !isRepeated)
      return errorResponses.InitProducerId(request, errorCode.PRODUCER_FENCED)
    transaction.timeoutMs = transactionTimeoutMs
    if (!isRepeated) this.#raiseEpoch(transaction, producerEpoch === none ? none : transaction.epoch)
    transaction.state = 'Empty'
    return newProducer(transaction.producerId, transaction.epoch)
  }

  #create(transactionalId: string): Transaction {
    const transaction: Transaction = {
      transactionalId,
      producerId: this.#nextProducerId++,
      epoch: none,
      lastEpoch: none,
      timeoutMs: 0,
      state: 'Empty',
      partitions: new Set(),
      groups: new Set(),
      timeout: null,
    }
    this.#transactions.set(transactionalId, transaction)
    return transaction
  }

  #raiseEpoch(transaction: Transaction, former: number): void {
    transaction.lastEpoch = former
    if (transaction.epoch < lastEpoch) {
      transaction.epoch++
      return
    }
    transaction.producerId = this.#nextProducerId++
    transaction.epoch = 0
  }

  /** Adds to the transaction, starting one if there is none. */
  #add(producer: ProducerIdentity, add: (transaction: Transaction) => void): number {
    const { transaction, problem } = this.#find(producer)
    if (transaction === null) return problem
    if (isEnding(transaction)) return errorCode.CONCURRENT_TRANSACTIONS
    if (transaction.state !== 'Ongoing') {
      transaction.state = 'Ongoing'
      transaction.timeout = this.#runtime.timers.schedule(transaction.timeoutMs, () => this.#fenceAndAbort(transaction))
    }
    add(transaction)
    return errorCode.NONE
  }

  #end(producer: ProducerIdentity, committed: boolean): number {
    const { transaction, problem } = this.#find(producer)
    if (transaction === null) return problem
    switch (transaction.state) {
      case 'Ongoing':
        this.#finish(transaction, committed)
        return errorCode.NONE
      case 'CompleteCommit':
        return committed ? errorCode.NONE : errorCode.INVALID_TXN_STATE
      case 'CompleteAbort':
        return committed ? errorCode.INVALID_TXN_STATE : errorCode.NONE
      case 'PrepareCommit':
        return committed ? errorCode.CONCURRENT_TRANSACTIONS : errorCode.INVALID_TXN_STATE
      case 'PrepareAbort':
        return committed ? errorCode.INVALID_TXN_STATE : errorCode.CONCURRENT_TRANSACTIONS
      case 'Empty':
        return errorCode.INVALID_TXN_STATE
    }
  }

  #fenceAndAbort(transaction: Transaction): void {
    // Its producer may still ask for the new epoch with the old one. Another that asks takes that away.
    transaction.lastEpoch = transaction.epoch++
    this.#finish(transaction, false)
  }

  /** The outcome is decided; the markers follow. */
  #finish(transaction: Transaction, committed: boolean): void {
    transaction.timeout?.[Symbol.dispose]()
    transaction.state = committed ? 'PrepareCommit' : 'PrepareAbort'
    if (this.#markerDelayMs === 0) this.#writeMarkers(transaction, committed)
    else this.#runtime.timers.schedule(this.#markerDelayMs, () => this.#writeMarkers(transaction, committed))
  }

  #writeMarkers(transaction: Transaction, committed: boolean): void {
    const { producerId, epoch: producerEpoch, partitions, groups } = transaction
    const nowMs = this.#runtime.clock.now()
    for (const partition of partitions) {
      if (partition.isDeleted) continue
      partition.log.appendMarker(
        { producerId, producerEpoch, committed },
        { nowMs, leaderEpoch: partition.leaderEpoch },
      )
    }
    for (const groupId of groups) this.#endGroup(groupId, producerId, committed)
    partitions.clear()
    groups.clear()
    transaction.state = committed ? 'CompleteCommit' : 'CompleteAbort'
  }

  #find(
    producer: ProducerIdentity,
  ): { transaction: Transaction; problem: null } | { transaction: null; problem: number } {
    const transaction = this.#transactions.get(producer.transactionalId)
    if (transaction?.producerId !== producer.producerId)
      return { transaction: null, problem: errorCode.INVALID_PRODUCER_ID_MAPPING }
    if (transaction.epoch !== producer.producerEpoch) return { transaction: null, problem: errorCode.PRODUCER_FENCED }
    return { transaction, problem: null }
  }

  #placeProblem(transactionalId: string, { node }: Call): number | null {
    if (transactionalId === '') return errorCode.INVALID_REQUEST
    return this.#placement.nodeOf('TRANSACTION', transactionalId) === node ? null : errorCode.NOT_COORDINATOR
  }
}

function isEnding({ state }: Transaction): boolean {
  return state === 'PrepareCommit' || state === 'PrepareAbort'
}

function initProblem({ transactionTimeoutMs, producerId, producerEpoch }: InitProducerIdRequest): number | null {
  if ((producerId === -1n) !== (producerEpoch === none)) return errorCode.INVALID_REQUEST
  const isTimeoutFine = transactionTimeoutMs > 0 && transactionTimeoutMs <= maxTimeoutMs
  return isTimeoutFine ? null : errorCode.INVALID_TRANSACTION_TIMEOUT
}

function newProducer(producerId: bigint, producerEpoch: number) {
  return { errorCode: errorCode.NONE, producerId, producerEpoch }
}
