/** Where things are: nodes, topics, coordinators. */

import {
  findCoordinatorV3,
  findCoordinatorV4,
  findCoordinatorV5,
  findCoordinatorV6,
  metadataV10,
  metadataV11,
  metadataV12,
} from '@platformatic/kafka'
import { type ApiBinding, apiBinding } from './api-binding.ts'
import type { ByteReader } from './byte-reader.ts'
import { errorCode } from './error-codes.ts'
import type { FindCoordinatorResponse } from './kafka-apis.ts'

/** Topics are never created by asking for them. From version 10 on it carries topic ids. */
export const metadataApi: ApiBinding<'Metadata'> = apiBinding(
  3,
  { 10: metadataV10, 11: metadataV11, 12: metadataV12 },
  (create, { topics }) => create(topics, false, false),
  (reader) => {
    const brokers = reader.structs(() => {
      const broker = { nodeId: reader.int32(), host: reader.text(), port: reader.int32() }
      reader.nullableText() // Rack.
      return broker
    })
    return {
      brokers,
      clusterId: reader.nullableText(),
      controllerId: reader.int32(),
      topics: reader.structs(() => readTopic(reader)),
    }
  },
)

function readTopic(reader: ByteReader) {
  const topic = {
    errorCode: reader.int16(),
    name: reader.nullableText(),
    topicId: reader.uuid(),
    isInternal: reader.boolean(),
    partitions: reader.structs(() => {
      const partition = {
        errorCode: reader.int16(),
        partitionIndex: reader.int32(),
        leaderId: reader.int32(),
        leaderEpoch: reader.int32(),
        replicaNodes: reader.list(() => reader.int32()),
        isrNodes: reader.list(() => reader.int32()),
      }
      reader.list(() => reader.int32()) // Offline replicas.
      return partition
    }),
  }
  reader.int32() // Authorised operations.
  return topic
}

/** One key a request; since version 4 the wire has a list. */
export const findCoordinatorApi: ApiBinding<'FindCoordinator'> = apiBinding(
  10,
  { 3: findCoordinatorV3, 4: findCoordinatorV4, 5: findCoordinatorV5, 6: findCoordinatorV6 },
  (create, { kind, key }) => create(kind === 'GROUP' ? 0 : 1, [key]),
  (reader, version) => {
    if (version < 4) return readLoneCoordinator(reader)
    const [coordinator] = reader.structs(() => readCoordinator(reader))
    return (
      coordinator ?? { errorCode: errorCode.UNKNOWN_SERVER_ERROR, errorMessage: null, nodeId: -1, host: '', port: -1 }
    )
  },
)

function readLoneCoordinator(reader: ByteReader): FindCoordinatorResponse {
  return {
    errorCode: reader.int16(),
    errorMessage: reader.nullableText(),
    nodeId: reader.int32(),
    host: reader.text(),
    port: reader.int32(),
  }
}

function readCoordinator(reader: ByteReader): FindCoordinatorResponse {
  reader.text() // The key.
  const node = { nodeId: reader.int32(), host: reader.text(), port: reader.int32() }
  return { errorCode: reader.int16(), errorMessage: reader.nullableText(), ...node }
}
