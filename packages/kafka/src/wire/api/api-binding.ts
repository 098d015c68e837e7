/** How one request of the port is spoken: which versions, and its bytes both ways. */

import type { Buffer } from 'node:buffer'
import type { Writer } from '@platformatic/kafka'
import type { ByteReader } from './byte-reader.ts'
import type { KafkaApi, RequestOf, ResponseOf } from './kafka-apis.ts'

/**
 * One request of the port on the wire. Only flexible versions (those with tagged fields) are spoken: brokers have them
 * since 2.4, topic ids in Fetch since 3.1.
 */
export interface ApiBinding<A extends KafkaApi> {
  readonly key: number
  /** In falling order: the first that the broker has too is used. */
  readonly versions: readonly number[]
  /** The body of the request, in the library's writer. */
  readonly write: (request: RequestOf<A>, version: number) => Writer
  /** Our shape of the answer. Reads error codes as data: the library's own parsers throw them. */
  readonly read: (reader: ByteReader, version: number) => ResponseOf<A>
}

/** A version of a request in the library. */
interface LibraryVersion<Args extends unknown[]> {
  readonly createRequest: (...args: Args) => Writer
}

/** Every array in `T` writable, as the library's types ask; its functions only read them. */
type Writable<T> = T extends Buffer | bigint
  ? T
  : T extends readonly (infer Item)[]
    ? Writable<Item>[]
    : T extends object
      ? { -readonly [K in keyof T]: Writable<T[K]> }
      : T

/**
 * A request that the library writes: `versions` are its modules by number, whose createRequest take the same arguments;
 * `write` calls the one that was negotiated. `read` begins after the throttle time, which leads the answers to all of
 * them and of which we take no notice: a broker that wants us slower stops reading.
 */
export function apiBinding<A extends KafkaApi, Args extends unknown[]>(
  key: number,
  versions: Readonly<Record<number, LibraryVersion<Args>>>,
  write: (create: (...args: Args) => Writer, request: Writable<RequestOf<A>>) => Writer,
  read: ApiBinding<A>['read'],
): ApiBinding<A> {
  return {
    key,
    versions: Object.keys(versions).map(Number).toReversed(),
    write: (request, version) =>
      write((versions[version] as LibraryVersion<Args>).createRequest, request as Writable<RequestOf<A>>),
    read: (reader, version) => {
      reader.int32()
      return read(reader, version)
    },
  }
}

/** Topics by name, each with a list of partitions: the shape of most answers. */
export function readTopics<P>(
  reader: ByteReader,
  readPartition: () => P,
): { readonly name: string; readonly partitions: P[] }[] {
  return reader.structs(() => ({ name: reader.text(), partitions: reader.structs(readPartition) }))
}
