/** Handles Produce requests: each partition on its own, so that one may fail beside another. */

import { Buffer } from 'node:buffer'
import type { Runtime } from '@waybill/core'
import { batchHeaderBytes, errorCode, type ProduceResponse, RecordBatch } from '@waybill/kafka/wire'
import { errorResponses, produceError } from './error-response.ts'
import type { NodeTable } from './node-table.ts'
import { leaderProblem } from './partition-problem.ts'
import type { RequestHandler } from './request-handler.ts'
import type { Partition, TopicTable } from './topic-table.ts'
import type { TransactionCoordinator } from './transaction-coordinator.ts'

type PartitionAnswer = ProduceResponse['topics'][number]['partitions'][number]

/** Answers Produce. */
export function produceHandler(parts: {
  runtime: Runtime
  nodes: NodeTable
  topics: TopicTable
  transactions: TransactionCoordinator
}): RequestHandler<'Produce'> {
  const { runtime, nodes, topics, transactions } = parts

  const replicaProblem = (partition: Partition): number | null => {
    const inSync = partition.replicas.filter((replica) => nodes.isUp(replica)).length
    return inSync < partition.config.minInSyncReplicas ? errorCode.NOT_ENOUGH_REPLICAS : null
  }

  /** A leader asks the transaction's coordinator before the first batch of a transaction, and trusts the rest. */
  const transactionProblem = (partition: Partition, bytes: Buffer, transactionalId: string | null): number | null => {
    if (bytes.length < batchHeaderBytes) return null // Too short to be a batch: the log says so.
    const batch = new RecordBatch(bytes, 0, bytes.length)
    const { producers } = partition.log
    if (!batch.isTransactional || producers.isOpen(batch.producerId)) return null
    if (batch.producerEpoch < producers.epochOf(batch.producerId)) return errorCode.INVALID_PRODUCER_EPOCH
    const { producerId, producerEpoch } = batch
    const code = transactions.verifyPartition(
      { transactionalId: transactionalId ?? '', producerId, producerEpoch },
      partition,
    )
    return code === errorCode.NONE ? null : code
  }

  const append = (partition: Partition, bytes: Buffer): PartitionAnswer => {
    const { config, log } = partition
    const result = log.append(bytes, {
      nowMs: runtime.clock.now(),
      leaderEpoch: partition.leaderEpoch,
      maxMessageBytes: config.maxMessageBytes,
      isAppendTime: config.isAppendTime,
      maxAheadMs: config.maxAheadMs,
      isCompacted: config.isCompacted,
    })
    return { partitionIndex: partition.index, ...result }
  }

  return (request, { node }) => {
    const { transactionalId } = request
    if (transactionalId === null && hasTransactionalBatch(request.topics))
      return errorResponses.Produce(request, errorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    return {
      topics: request.topics.map(({ name, partitions }) => ({
        name,
        partitions: partitions.map(({ partitionIndex, records }) => {
          const partition = topics.partition(name, partitionIndex)
          const bytes = records.length === 1 ? (records[0] as Buffer) : Buffer.concat(records)
          const problem =
            leaderProblem(partition, node) ??
            replicaProblem(partition as Partition) ??
            transactionProblem(partition as Partition, bytes, transactionalId)
          return problem === null ? append(partition as Partition, bytes) : produceError(partitionIndex, problem)
        }),
      })),
    }
  }
}

function hasTransactionalBatch(topics: Parameters<RequestHandler<'Produce'>>[0]['topics']): boolean {
  return topics.some(({ partitions }) =>
    partitions.some(
      ({ records: [first] }) => first !== undefined && first.length > 22 && (first.readInt16BE(21) & 0x10) !== 0,
    ),
  )
}
