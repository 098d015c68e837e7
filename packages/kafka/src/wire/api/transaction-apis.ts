/** Producer ids and transactions. */

import { type ApiBinding, apiBinding } from './api-binding.ts'
import type { ByteReader } from './byte-reader.ts'
import { readPartitionErrors, writeOffsets } from './group-apis.ts'
import type { ErrorOnlyResponse } from './kafka-apis.ts'

export const initProducerIdApi: ApiBinding<'InitProducerId'> = apiBinding(
  22,
  [5, 4, 3],
  (writer, request) =>
    writer
      .text(request.transactionalId)
      .int32(request.transactionTimeoutMs)
      .int64(request.producerId)
      .int16(request.producerEpoch),
  (reader) => ({ errorCode: reader.int16(), producerId: reader.int64(), producerEpoch: reader.int16() }),
)

/** Version 3 and no later one: later versions are for brokers, and a cluster with ACLs refuses them to a client. */
export const addPartitionsToTxnApi: ApiBinding<'AddPartitionsToTxn'> = apiBinding(
  24,
  [3],
  (writer, request) =>
    writer
      .text(request.transactionalId)
      .int64(request.producerId)
      .int16(request.producerEpoch)
      .structs(request.topics, ({ name, partitions }) =>
        writer.text(name).list(partitions, (index) => writer.int32(index)),
      ),
  readPartitionErrors,
)

export const addOffsetsToTxnApi: ApiBinding<'AddOffsetsToTxn'> = apiBinding(
  25,
  [4, 3],
  (writer, request) =>
    writer.text(request.transactionalId).int64(request.producerId).int16(request.producerEpoch).text(request.groupId),
  readErrorOnly,
)

export const txnOffsetCommitApi: ApiBinding<'TxnOffsetCommit'> = apiBinding(
  28,
  [4, 3],
  (writer, request) => {
    writer
      .text(request.transactionalId)
      .text(request.groupId)
      .int64(request.producerId)
      .int16(request.producerEpoch)
      .int32(request.generationId)
      .text(request.memberId)
      .text(request.groupInstanceId)
    writeOffsets(writer, request.topics)
  },
  readPartitionErrors,
)

/** Version 4 at most: from version 5 on every transaction raises the producer's epoch, which the client does not follow. */
export const endTxnApi: ApiBinding<'EndTxn'> = apiBinding(
  26,
  [4, 3],
  (writer, request) =>
    writer
      .text(request.transactionalId)
      .int64(request.producerId)
      .int16(request.producerEpoch)
      .boolean(request.committed),
  readErrorOnly,
)

function readErrorOnly(reader: ByteReader): ErrorOnlyResponse {
  return { errorCode: reader.int16() }
}
