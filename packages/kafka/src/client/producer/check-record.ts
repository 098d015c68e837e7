import { Buffer } from 'node:buffer'
import { ArgumentError } from '@waybill/core'
import { showValue } from '@waybill/core/option'
import { legalTopicName } from '../cluster/legal-topic-name.ts'
import type { OutRecord } from './producer.ts'

/** The wire holds no more. */
const highestPartition = 2 ** 31 - 1

/** Most records go where the one before went. At first any legal name: a topic that is left out must not be equal to it. */
let lastLegalTopic = 'none'

function checkTopic(topic: unknown): void {
  if (typeof topic !== 'string' || !legalTopicName.test(topic))
    refuse('topic', 'the name of a Kafka topic: up to 249 letters, digits, dots, underscores and hyphens', topic)
  lastLegalTopic = topic
}

/** @throws ArgumentError for a record that no broker would take, or that would be written as something else. */
export function checkRecord(record: OutRecord): void {
  if (typeof record !== 'object' || record === null) refuseRecord(record)
  const { topic, partition, key, value, headers, timestamp } = record
  if (topic !== lastLegalTopic) checkTopic(topic)
  if (partition !== undefined && (!isCount(partition) || partition > highestPartition)) {
    refuse('partition', `a whole number from 0 to ${highestPartition}`, partition)
  }
  if (timestamp !== undefined && !isCount(timestamp)) refuse('timestamp', 'epoch milliseconds', timestamp)
  // Left out is not null: a record without its value deletes what a compacted topic has under its key.
  if (key !== null && !Buffer.isBuffer(key)) refuse('key', bytes, key)
  if (value !== null && !Buffer.isBuffer(value)) refuse('value', bytes, value)
  if (headers !== undefined && !isIterable(headers)) refuse('headers', 'pairs: [["name", Buffer.from(text)]]', headers)
}

/** @throws ArgumentError for a header that is no pair of a text and bytes. */
export function checkHeader(pair: readonly unknown[]): void {
  if (!Array.isArray(pair)) refuse('header', 'a pair', pair)
  // Not taken apart by pattern: that makes an iterator for each.
  const name = pair[0]
  const value = pair[1]
  if (typeof name !== 'string') refuse('header', 'named by a text', name)
  if (value !== null && !Buffer.isBuffer(value)) refuse(`header ${name}`, bytes, value)
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

/** A text is iterable too, one character after the other. */
function isIterable(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Symbol.iterator in value
}

const bytes = 'a Buffer, as of Buffer.from(text), or null'

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
