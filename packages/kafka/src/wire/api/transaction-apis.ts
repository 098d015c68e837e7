/** Producer ids and transactions. */

import {
  addOffsetsToTxnV3,
  addOffsetsToTxnV4,
  addPartitionsToTxnV3,
  endTxnV3,
  endTxnV4,
  initProducerIdV3,
  initProducerIdV4,
  initProducerIdV5,
  txnOffsetCommitV3,
  txnOffsetCommitV4,
} from '@platformatic/kafka'
import { type ApiBinding, apiBinding } from './api-binding.ts'
import type { ByteReader } from './byte-reader.ts'
import { readPartitionErrors } from './group-apis.ts'
import type { ErrorOnlyResponse } from './kafka-apis.ts'

export const initProducerIdApi: ApiBinding<'InitProducerId'> = apiBinding(
  22,
  { 3: initProducerIdV3, 4: initProducerIdV4, 5: initProducerIdV5 },
  (create, request) =>
    create(request.transactionalId, request.transactionTimeoutMs, request.producerId, request.producerEpoch),
  (reader) => ({ errorCode: reader.int16(), producerId: reader.int64(), producerEpoch: reader.int16() }),
)

/** Version 3 and no later one: those are for brokers, and a cluster with ACLs refuses them to a client. */
export const addPartitionsToTxnApi: ApiBinding<'AddPartitionsToTxn'> = apiBinding(
  24,
  { 3: addPartitionsToTxnV3 },
  (create, request) => create([{ ...request, verifyOnly: false }]),
  readPartitionErrors,
)

export const addOffsetsToTxnApi: ApiBinding<'AddOffsetsToTxn'> = apiBinding(
  25,
  { 3: addOffsetsToTxnV3, 4: addOffsetsToTxnV4 },
  (create, request) => create(request.transactionalId, request.producerId, request.producerEpoch, request.groupId),
  readErrorOnly,
)

export const txnOffsetCommitApi: ApiBinding<'TxnOffsetCommit'> = apiBinding(
  28,
  { 3: txnOffsetCommitV3, 4: txnOffsetCommitV4 },
  (create, request) =>
    create(
      request.transactionalId,
      request.groupId,
      request.producerId,
      request.producerEpoch,
      request.generationId,
      request.memberId,
      request.groupInstanceId,
      request.topics,
    ),
  readPartitionErrors,
)

/** Version 5 would raise the producer's epoch with every transaction; ours ends with what it began with. */
export const endTxnApi: ApiBinding<'EndTxn'> = apiBinding(
  26,
  { 3: endTxnV3, 4: endTxnV4 },
  (create, request) => create(request.transactionalId, request.producerId, request.producerEpoch, request.committed),
  readErrorOnly,
)

function readErrorOnly(reader: ByteReader): ErrorOnlyResponse {
  return { errorCode: reader.int16() }
}
