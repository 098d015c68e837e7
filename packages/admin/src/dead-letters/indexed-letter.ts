import { Buffer } from 'node:buffer'
import type { StoredDeadLetter } from '@waybill/connector'
import type { IndexedDeadLetter } from '@waybill/core/internal'
import { causeOf, type Fingerprint, fingerprintOf } from './fingerprint.ts'
import { eventIdOf, sizeOf, traceIdOf } from './letter-facts.ts'

/** The parts of dead letters that an index may hold, and how it groups them. */
export interface IndexingRule {
  /** Keys as text, cut at 256 bytes. */
  readonly keys: boolean
  readonly messages: boolean
  /** @defaultValue the standard rule */
  readonly fingerprint?: Fingerprint | undefined
  readonly fingerprintVersion?: string | undefined
}

const maxKeyBytes = 256
const maxGroupCharacters = 64
const maxNameCharacters = 255
const maxMessageCharacters = 1_024

/** Returns a dead letter as an index holds it. `binding` is the key of the binding that it belongs to. */
export function indexedLetter(
  letter: StoredDeadLetter,
  { cluster, binding }: Pick<IndexedDeadLetter, 'cluster' | 'binding'>,
  { keys, messages, fingerprint }: IndexingRule,
): IndexedDeadLetter {
  const { topic, partition, offset, deadAtMs, consumerGroup, replayCount, record } = letter
  const cause = causeOf(letter)
  const group = fingerprint === undefined ? fingerprintOf(cause) : storable(fingerprint(letter), maxGroupCharacters)
  const name = (text: string | undefined): string | undefined =>
    text === undefined ? undefined : storable(text, maxNameCharacters)
  return {
    cluster,
    topic,
    partition,
    offset,
    binding,
    consumerGroup: name(consumerGroup),
    originalTopic: storable(record.originalTopic, maxNameCharacters),
    originalPartition: record.originalPartition,
    originalOffset: record.originalOffset,
    originalAtMs: record.originalTimestamp === 0 ? undefined : record.originalTimestamp,
    deadAtMs,
    reason: record.dltReason,
    exception: storable(cause.exception, maxNameCharacters),
    message: messages ? storable(record.lastExceptionMessage, maxMessageCharacters) : '',
    frame: name(cause.frame),
    group,
    eventType: name(cause.eventType),
    eventId: name(eventIdOf(letter)),
    key: keys && record.key !== null ? keyText(record.key) : undefined,
    attempts: record.totalAttempts,
    replayCount,
    traceId: traceIdOf(letter),
    bytes: sizeOf(letter),
    state: 'OPEN',
    operation: undefined,
  }
}

function keyText(key: Buffer): string {
  return storable(key.length <= maxKeyBytes ? key.toString('utf8') : cut(key), maxKeyBytes)
}

/** Returns a text of a foreign record as databases can hold it: without zero characters and halves of surrogate pairs. */
function storable(text: string, maxCharacters: number): string {
  return text.slice(0, maxCharacters).replaceAll('\0', '\ufffd').toWellFormed()
}

/** Cuts between two characters. */
function cut(key: Buffer): string {
  let end = maxKeyBytes
  while (end > maxKeyBytes - 4 && ((key[end] as number) & 0xc0) === 0x80) end--
  return Buffer.from(key.subarray(0, end)).toString('utf8')
}
