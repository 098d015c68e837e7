import { ArgumentError } from '@waybill/core'
import { showValue } from '@waybill/core/option'
import { type ErrorName, errorName } from '../../wire/api/error-codes.ts'
import type { KafkaApi, PartitionErrorsResponse, RequestOf } from '../../wire/api/kafka-apis.ts'
import { offsetsByTopic } from '../cluster/by-topic.ts'
import type { GroupMetadata } from '../cluster/group-metadata.ts'
import { KafkaError } from '../cluster/kafka-error.ts'
import type { OffsetCommit } from '../cluster/offset-commit.ts'
import { partitionName } from '../cluster/partition-name.ts'
import type { TopicPartition } from '../cluster/topic-partition.ts'
import { type CallBounds, type CoordinatorCall, callCoordinator, type ProducerDeps } from './coordinator-call.ts'
import type { ProducerIdentity } from './producer-identity.ts'

/** Partitions that cannot be added to a transaction, while others may be. */
export interface PartitionsRefusal {
  readonly error: KafkaError
  readonly partitions: readonly TopicPartition[]
}

/** Partition numbers by topic. */
export type PartitionsByTopic = ReadonlyMap<string, readonly number[]>

/** Requests of one transactional id to its coordinator. Each is retried until it has a response. */
export class TransactionCoordinator {
  readonly #deps: ProducerDeps
  readonly #bounds: CallBounds
  readonly #transactionTimeoutMs: number
  readonly transactionalId: string

  constructor(deps: ProducerDeps, transactionalId: string, transactionTimeoutMs: number, bounds: CallBounds) {
    if (typeof transactionalId !== 'string' || transactionalId === '')
      throw new ArgumentError(`A transactional id must be a non-empty string, not ${showValue(transactionalId)}.`)
    this.#deps = deps
    this.transactionalId = transactionalId
    this.#transactionTimeoutMs = transactionTimeoutMs
    this.#bounds = bounds
  }

  /**
   * Obtains the next epoch. With null it fences the previous holder of the id and aborts its open transaction. With an
   * own identity it is refused once another process has obtained a later epoch.
   */
  async nextIdentity(own: ProducerIdentity | null): Promise<ProducerIdentity> {
    const answer = await this.#ask('InitProducerId', {
      request: {
        transactionalId: this.transactionalId,
        transactionTimeoutMs: this.#transactionTimeoutMs,
        producerId: own?.producerId ?? -1n,
        producerEpoch: own?.epoch ?? -1,
      },
      codes: ({ errorCode }) => [errorCode],
    })
    return { producerId: answer.producerId, epoch: answer.producerEpoch }
  }

  /** Resolves with the partitions that are at fault themselves, if any. Rejects when the transaction is. */
  async addPartitions(
    identity: ProducerIdentity,
    partitions: PartitionsByTopic,
  ): Promise<PartitionsRefusal | undefined> {
    let refused: readonly TopicPartition[] = []
    try {
      await this.#ask('AddPartitionsToTxn', {
        request: {
          ...this.#producerFields(identity),
          topics: Array.from(partitions, ([name, numbers]) => ({ name, partitions: numbers })),
        },
        codes(response) {
          refused = refusedPartitions(response)
          return partitionCodes(response)
        },
      })
      return undefined
    } catch (error) {
      if (refused.length > 0 && error instanceof KafkaError && isOfPartition(error))
        return { error, partitions: refused }
      throw error
    }
  }

  /**
   * Sends all offsets in one request, under the generation of the member that settled them, while it owns the
   * partitions.
   */
  async commitOffsets(
    identity: ProducerIdentity,
    offsets: readonly OffsetCommit[],
    group: GroupMetadata,
  ): Promise<void> {
    const { groupId, generationId, memberId, instanceId } = group
    await this.#ask('AddOffsetsToTxn', {
      request: { ...this.#producerFields(identity), groupId },
      codes: ({ errorCode }) => [errorCode],
    })
    const request = (): RequestOf<'TxnOffsetCommit'> => {
      assertOwned(offsets, group)
      return {
        ...this.#producerFields(identity),
        groupId,
        generationId,
        memberId,
        groupInstanceId: instanceId,
        topics: offsetsByTopic(offsets),
      }
    }
    const call = { kind: 'GROUP', key: groupId, api: 'TxnOffsetCommit', request, codes: partitionCodes } as const
    await callCoordinator(this.#deps, call, this.#bounds)
  }

  async end(identity: ProducerIdentity, committed: boolean): Promise<void> {
    await this.#ask('EndTxn', {
      request: { ...this.#producerFields(identity), committed },
      codes: ({ errorCode }) => [errorCode],
    })
  }

  #producerFields({ producerId, epoch }: ProducerIdentity): {
    transactionalId: string
    producerId: bigint
    producerEpoch: number
  } {
    return { transactionalId: this.transactionalId, producerId, producerEpoch: epoch }
  }

  #ask<A extends KafkaApi>(
    api: A,
    call: Pick<CoordinatorCall<A>, 'request' | 'codes'>,
  ): ReturnType<typeof callCoordinator<A>> {
    return callCoordinator(this.#deps, { kind: 'TRANSACTION', key: this.transactionalId, api, ...call }, this.#bounds)
  }
}

function partitionCodes(response: PartitionErrorsResponse): readonly number[] {
  return response.topics.flatMap((topic) => topic.partitions.map((partition) => partition.errorCode))
}

/** Refusals of single partitions. Every other code concerns the transaction. */
const partitionReasons: ReadonlySet<string> = new Set<ErrorName>([
  'TOPIC_AUTHORIZATION_FAILED',
  'UNKNOWN_TOPIC_OR_PARTITION',
  'INVALID_TOPIC_EXCEPTION',
])

function refusedPartitions({ topics }: PartitionErrorsResponse): readonly TopicPartition[] {
  return topics.flatMap(({ name, partitions }) =>
    partitions
      .filter((partition) => partitionReasons.has(errorName(partition.errorCode)))
      .map(({ partitionIndex }) => ({ topic: name, partition: partitionIndex })),
  )
}

/** Returns whether single partitions were refused. At the deadline, the last refusal is the cause. */
function isOfPartition({ reason, cause }: KafkaError): boolean {
  const last = reason ?? (cause instanceof KafkaError ? cause.reason : undefined)
  return last !== undefined && partitionReasons.has(last)
}

/** @throws KafkaError REBALANCING for the first offset whose partition was released after it was settled (I3). */
function assertOwned(offsets: readonly OffsetCommit[], { objection }: GroupMetadata): void {
  for (const offset of offsets) {
    const why = objection?.(offset)
    if (why === undefined) continue
    throw new KafkaError(`Cannot commit an offset of ${partitionName(offset)}: ${why}.`, 'REBALANCING', {
      impact: 'None of these offsets was sent. The owner of the partition continues from the last committed offset.',
      hint: 'Abort the transaction and continue with the partitions that are owned now.',
    })
  }
}
