/** Lookups: nodes, topics, coordinators. */

import { type ApiBinding, apiBinding, noTopicId } from './api-binding.ts'
import type { ByteReader } from './byte-reader.ts'
import { errorCode } from './error-codes.ts'
import type { FindCoordinatorResponse } from './kafka-apis.ts'

/** A lookup never creates topics. Topic ids exist from version 10 on. */
export const metadataApi: ApiBinding<'Metadata'> = apiBinding(
  3,
  [12, 11, 10],
  (writer, { topics }, version) => {
    writer.structs(topics, (name) => writer.uuid(noTopicId).text(name)).boolean(false) // No automatic creation.
    if (version < 11) writer.boolean(false) // No authorized operations of the cluster, nor of topics.
    writer.boolean(false)
  },
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
  reader.int32() // Authorized operations.
  return topic
}

/** Looks up one key. From version 4 on the request has a list of them. */
export const findCoordinatorApi: ApiBinding<'FindCoordinator'> = apiBinding(
  10,
  [6, 5, 4, 3],
  (writer, { kind, key }, version) => {
    const keyType = kind === 'GROUP' ? 0 : 1
    if (version < 4) writer.text(key).int8(keyType)
    else writer.int8(keyType).list([key], (name) => writer.text(name))
  },
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
