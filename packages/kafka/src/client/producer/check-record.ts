import { Buffer } from 'node:buffer'
import { ArgumentError, describeThrown } from '@waybill/core'
import { legalTopicName } from '../legal-topic-name.ts'
import type { OutRecord } from '../types.ts'

/** The wire holds no more. */
const highestPartition = 2 ** 31 - 1

/** Most records go where the one before went. */
let lastLegalTopic: string | undefined

function checkTopic(topic: unknown): void {
  if (typeof topic !== 'string' || !legalTopicName.test(topic)) refuse('topic', 'a legal topic name', topic)
  lastLegalTopic = topic
}

/** @throws ArgumentError for a record that no broker would take, or that would be written as something else. */
export function checkRecord(record: OutRecord): void {
  const { topic, partition, key, value, headers, timestamp } = record
  if (topic !== lastLegalTopic) checkTopic(topic)
  if (partition !== undefined && (!isCount(partition) || partition > highestPartition)) {
    refuse('partition', `a whole number from 0 to ${highestPartition}`, partition)
  }
  if (timestamp !== undefined && !isCount(timestamp)) refuse('timestamp', 'epoch milliseconds', timestamp)
  if (!isBytes(key)) refuse('key', 'a Buffer or null', key)
  if (!isBytes(value)) refuse('value', 'a Buffer or null', value)
  if (headers !== undefined && !isIterable(headers)) refuse('headers', 'pairs', headers)
}

/** @throws ArgumentError for a header that is no pair of a text and bytes. */
export function checkHeader(pair: readonly unknown[]): void {
  if (!Array.isArray(pair)) refuse('header', 'a pair', pair)
  // Not taken apart by pattern: that makes an iterator for each.
  const name = pair[0]
  const value = pair[1]
  if (typeof name !== 'string') refuse('header', 'named by a text', name)
  if (value !== null && !Buffer.isBuffer(value)) refuse(`header ${name}`, 'a Buffer or null', value)
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

function isIterable(value: object): boolean {
  return Array.isArray(value) || Symbol.iterator in Object(value)
}

/** Plain JavaScript may leave a key or value out. */
function isBytes(value: unknown): boolean {
  return value === null || value === undefined || Buffer.isBuffer(value)
}

function refuse(what: string, expected: string, got: unknown): never {
  throw new ArgumentError(`A record's ${what} must be ${expected}, not ${describeThrown(got)}.`, {
    kept: 'It was not sent.',
  })
}
