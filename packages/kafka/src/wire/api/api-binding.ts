/** How one request of the transport is encoded: its versions, and its bytes both ways. */

import type { ByteReader } from './byte-reader.ts'
import { ByteWriter, type RequestBody } from './byte-writer.ts'
import type { KafkaApi, RequestOf, ResponseOf } from './kafka-apis.ts'

/**
 * One request of the transport on the wire. Only flexible versions (those with tagged fields) are used: brokers have
 * them since 2.4, topic ids in Fetch since 3.1.
 */
export interface ApiBinding<A extends KafkaApi> {
  readonly key: number
  /** In falling order: the first that the broker supports too is used. */
  readonly versions: readonly number[]
  readonly write: (request: RequestOf<A>, version: number) => RequestBody
  /** Reads the response. Error codes are data: a response that carries one is still a response. */
  readonly read: (reader: ByteReader, version: number) => ResponseOf<A>
}

/**
 * Binds a request to its encoding. `write` writes the fields of the request up to the tagged fields that end it; none
 * are ever sent. `read` begins after the throttle time, which leads every response and is ignored: a broker that wants
 * a slower client stops reading.
 */
export function apiBinding<A extends KafkaApi>(
  key: number,
  versions: readonly number[],
  write: (writer: ByteWriter, request: RequestOf<A>, version: number) => void,
  read: ApiBinding<A>['read'],
): ApiBinding<A> {
  return {
    key,
    versions,
    write: (request, version) => {
      const writer = new ByteWriter()
      write(writer, request, version)
      return writer.noTags()
    },
    read: (reader, version) => {
      reader.int32()
      return read(reader, version)
    },
  }
}

/** The id of a topic that is given by its name. */
export const noTopicId = '00000000-0000-0000-0000-000000000000'

/** Writes topics by name, each with a list of partitions: the shape of most requests. */
export function writeTopics<P>(
  writer: ByteWriter,
  topics: readonly { readonly name: string; readonly partitions: readonly P[] }[],
  writePartition: (partition: P) => void,
): ByteWriter {
  return writer.structs(topics, ({ name, partitions }) => writer.text(name).structs(partitions, writePartition))
}

/** Reads topics by name, each with a list of partitions: the shape of most responses. */
export function readTopics<P>(
  reader: ByteReader,
  readPartition: () => P,
): { readonly name: string; readonly partitions: P[] }[] {
  return reader.structs(() => ({ name: reader.text(), partitions: reader.structs(readPartition) }))
}
