import { Buffer } from 'node:buffer'
import { ArgumentError } from '@waybill/core'
import { showValue } from '@waybill/core/option'
import { legalTopicName } from '../cluster/legal-topic-name.ts'
import type { OutRecord } from './producer.ts'

/** The largest int32. */
const highestPartition = 2 ** 31 - 1

/**
 * Caches the last legal name, since most records go to the topic of the previous one. Starts as a legal name, so that
 * an undefined topic never equals it.
 */
let lastLegalTopic = 'none'

function checkTopic(topic: unknown): void {
  if (typeof topic !== 'string' || !legalTopicName.test(topic))
    refuse('topic', 'the name of a Kafka topic: up to 249 letters, digits, dots, underscores and hyphens', topic)
  lastLegalTopic = topic
}

/** @throws ArgumentError for a record that no broker accepts, or that would be written as something else. */
export function checkRecord(record: OutRecord): void {
  if (typeof record !== 'object' || record === null) refuseRecord(record)
  const { topic, partition, key, value, headers, timestamp } = record
  if (topic !== lastLegalTopic) checkTopic(topic)
  if (partition !== undefined && (!isCount(partition) || partition > highestPartition)) {
    refuse('partition', `a whole number from 0 to ${highestPartition}`, partition)
  }
  if (timestamp !== undefined && !isCount(timestamp)) refuse('timestamp', 'epoch milliseconds', timestamp)
  // Undefined is not null: a null value is a tombstone, which deletes the key from a compacted topic.
  if (key !== null && !Buffer.isBuffer(key)) refuse('key', bytes, key)
  if (value !== null && !Buffer.isBuffer(value)) refuse('value', bytes, value)
  if (headers !== undefined && !isIterable(headers)) refuse('headers', 'pairs: [["name", Buffer.from(text)]]', headers)
}

/** @throws ArgumentError for a header that is not a pair of a string and bytes. */
export function checkHeader(pair: readonly unknown[]): void {
  if (!Array.isArray(pair)) refuse('header', 'a pair', pair)
  // No destructuring: it creates an iterator per header.
  const name = pair[0]
  const value = pair[1]
  if (typeof name !== 'string') refuse('header', 'named by a string', name)
  if (value !== null && !Buffer.isBuffer(value)) refuse(`header ${name}`, bytes, value)
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

/** Returns whether the value is an iterable object. Strings are excluded, since they iterate by character. */
function isIterable(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Symbol.iterator in value
}

const bytes = 'a Buffer, such as Buffer.from(text), or null'

function refuse(what: string, expected: string, got: unknown): never {
  throw new ArgumentError(`A record's ${what} must be ${expected}, not ${showValue(got)}.`, {
    impact: 'It was not sent.',
  })
}

function refuseRecord(got: unknown): never {
  throw new ArgumentError(`A record must be an object like { topic, key, value }, not ${showValue(got)}.`, {
    impact: 'Nothing was sent.',
  })
}
