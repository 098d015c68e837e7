import { ArgumentError } from '@waybill/core'
import type { KafkaApi, PartitionErrorsResponse } from '../../wire/kafka-apis.ts'
import type { GroupMetadata, OffsetCommit } from '../types.ts'
import { type CallBounds, type CoordinatorCall, callCoordinator, type ProducerDeps } from './coordinator-call.ts'
import type { ProducerIdentity } from './producer-identity.ts'

/** Partitions by topic. */
export type PartitionsByTopic = ReadonlyMap<string, readonly number[]>

/** The requests of one transactional id to its coordinator. Each is repeated until it is answered. */
export class TransactionCoordinator {
  readonly #deps: ProducerDeps
  readonly #bounds: CallBounds
  readonly #transactionTimeoutMs: number
  readonly transactionalId: string

  constructor(deps: ProducerDeps, transactionalId: string, transactionTimeoutMs: number, bounds: CallBounds) {
    if (transactionalId === '') throw new ArgumentError('A transactional id must not be empty.')
    this.#deps = deps
    this.transactionalId = transactionalId
    this.#transactionTimeoutMs = transactionTimeoutMs
    this.#bounds = bounds
  }

  /**
   * The next epoch. With null whoever had the id before is fenced off, and its open transaction aborted; with an own
   * identity it is refused once somebody else has asked.
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

  async addPartitions(identity: ProducerIdentity, partitions: PartitionsByTopic): Promise<void> {
    await this.#ask('AddPartitionsToTxn', {
      request: {
        ...this.#says(identity),
        topics: Array.from(partitions, ([name, numbers]) => ({ name, partitions: numbers })),
      },
      codes: partitionCodes,
    })
  }

  /** All offsets in one request, under the generation of the member that settled them. */
  async commitOffsets(
    identity: ProducerIdentity,
    offsets: readonly OffsetCommit[],
    { groupId, generationId, memberId, instanceId }: GroupMetadata,
  ): Promise<void> {
    await this.#ask('AddOffsetsToTxn', {
      request: { ...this.#says(identity), groupId },
      codes: ({ errorCode }) => [errorCode],
    })
    const request = {
      ...this.#says(identity),
      groupId,
      generationId,
      memberId,
      groupInstanceId: instanceId,
      topics: Array.from(
        Map.groupBy(offsets, (offset) => offset.topic),
        ([name, ofTopic]) => ({
          name,
          partitions: ofTopic.map(({ partition, offset, metadata }) => ({
            partitionIndex: partition,
            committedOffset: offset,
            committedLeaderEpoch: -1,
            committedMetadata: metadata ?? null,
          })),
        }),
      ),
    }
    const call = { kind: 'GROUP', key: groupId, api: 'TxnOffsetCommit', request, codes: partitionCodes } as const
    await callCoordinator(this.#deps, call, this.#bounds)
  }

  async end(identity: ProducerIdentity, committed: boolean): Promise<void> {
    await this.#ask('EndTxn', {
      request: { ...this.#says(identity), committed },
      codes: ({ errorCode }) => [errorCode],
    })
  }

  #says({ producerId, epoch }: ProducerIdentity): {
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
