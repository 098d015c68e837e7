/**
 * The data that group members exchange through the coordinator, which does not parse it: the topics that a member
 * subscribes to, the partitions it still owns, and the partitions that the leader assigns. The format is the Java
 * client's, so that both clients can share a group during a migration.
 */

import { Buffer } from 'node:buffer'
import { WaybillError } from '@waybill/core'
import { ByteReader } from './byte-reader.ts'

/** The partitions of one topic. */
export interface TopicPartitions {
  readonly topic: string
  readonly partitions: readonly number[]
}

/** A member's subscription. */
export interface Subscription {
  readonly topics: readonly string[]
  readonly owned: readonly TopicPartitions[]
  /** The generation in which the owned partitions were assigned; -1 without any. */
  readonly generationId: number
}

/** Bytes of another member that match no known version of the format. */
export class ConsumerProtocolError extends WaybillError {
  static override readonly code = 'WAYBILL_KAFKA_GROUP_PROTOCOL'
}

const subscriptionVersion = 3
const assignmentVersion = 3

/** Encodes a subscription for JoinGroup. */
export function encodeSubscription(subscription: Subscription): Buffer {
  return Buffer.concat([
    int16(subscriptionVersion),
    int32(subscription.topics.length),
    ...subscription.topics.map(text),
    int32(-1), // No user data.
    ...topicPartitions(subscription.owned),
    int32(subscription.generationId),
    int16(-1), // No rack.
  ])
}

/** Decodes a member's subscription. Fields that an older version lacks read as owning nothing. */
export function decodeSubscription(bytes: Buffer): Subscription {
  const reader = readerOf(bytes)
  const version = reader.int16()
  const topics = reader.longList(() => reader.shortText())
  reader.longBytes() // User data.
  const owned = version >= 1 ? readTopicPartitions(reader) : []
  const generationId = version >= 2 ? reader.int32() : -1
  return { topics, owned, generationId }
}

/** Encodes an assignment for SyncGroup. */
export function encodeAssignment(assigned: readonly TopicPartitions[]): Buffer {
  return Buffer.concat([int16(assignmentVersion), ...topicPartitions(assigned), int32(-1)])
}

/** Decodes an assignment. No bytes mean no partitions. */
export function decodeAssignment(bytes: Buffer): readonly TopicPartitions[] {
  if (bytes.length === 0) return []
  const reader = readerOf(bytes)
  reader.int16()
  return readTopicPartitions(reader)
}

/** Untrusted bytes: any client can join a group. */
function readerOf(bytes: Buffer): ByteReader {
  return new ByteReader(
    bytes,
    (wrong) => new ConsumerProtocolError(`The data of a group member cannot be read: ${wrong}.`),
  )
}

function readTopicPartitions(reader: ByteReader): TopicPartitions[] {
  return reader.longList(() => ({
    topic: reader.shortText(),
    partitions: reader.longList(() => reader.int32()),
  }))
}

function int16(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(2)
  bytes.writeInt16BE(value)
  return bytes
}

function int32(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4)
  bytes.writeInt32BE(value)
  return bytes
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value)
  return Buffer.concat([int16(bytes.length), bytes])
}

function topicPartitions(list: readonly TopicPartitions[]): Buffer[] {
  return [
    int32(list.length),
    ...list.flatMap(({ topic, partitions }) => [text(topic), int32(partitions.length), ...partitions.map(int32)]),
  ]
}
