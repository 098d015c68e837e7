/** Reads the trusted engine headers of a record. Which ones are trusted depends on the kind of topic. */

import type { Buffer } from 'node:buffer'
import { replayHeader } from '@waybill/core'
import {
  attemptTraceHeader,
  headerTrust,
  isTraceparent,
  originalHeader,
  readInteger,
  readOffset,
  readTimestampMs,
  retryHeader,
  type TopicKind,
  tierExceptionHeader,
} from '@waybill/core/internal'
import type { KafkaRecord } from '@waybill/kafka'
import { legalTopicName } from '@waybill/kafka/internal'
import { headerBlockOf, unreadable } from './record-headers.ts'
import { TierClaims } from './tier-history.ts'

const operationId = /^op_[0-9A-Z]{26}$/

/** The values of the engine headers; undefined if missing or malformed. */
export class Claims {
  topic: string | undefined
  partition: number | undefined
  offset: bigint | undefined
  timestamp: number | undefined
  tier: number | undefined
  attempt: number | undefined
  totalAttempts: number | undefined
  retryTimestampMs: number | undefined
  firstFailureMs: number | undefined
  group: string | undefined
  replayCount: number | undefined
  replayOperation: string | undefined
  attemptTraceparent: string | undefined
  readonly history: TierClaims = new TierClaims()
}

/** Reads a value in place; `end` is below `at` for null. The last of several with the same name counts. */
type Take = (claims: Claims, bytes: Buffer, at: number, end: number) => void

const takes: ReadonlyMap<string, Take> = new Map<string, Take>([
  [originalHeader.topic, (claims, ...value) => (claims.topic = readTopic(...value))],
  [originalHeader.partition, (claims, ...value) => (claims.partition = readInteger(...value))],
  [originalHeader.offset, (claims, ...value) => (claims.offset = readOffset(...value))],
  [originalHeader.timestamp, (claims, ...value) => (claims.timestamp = readTimestampMs(...value))],
  [retryHeader.tier, (claims, ...value) => (claims.tier = readInteger(...value))],
  [retryHeader.attempt, (claims, ...value) => (claims.attempt = readInteger(...value))],
  [retryHeader.totalAttempts, (claims, ...value) => (claims.totalAttempts = readInteger(...value))],
  [retryHeader.timestamp, (claims, ...value) => (claims.retryTimestampMs = readTimestampMs(...value))],
  [retryHeader.firstFailureTimestamp, (claims, ...value) => (claims.firstFailureMs = readTimestampMs(...value))],
  [replayHeader.consumerGroup, (claims, ...value) => (claims.group = readText(...value))],
  [replayHeader.count, (claims, ...value) => (claims.replayCount = readInteger(...value))],
  [attemptTraceHeader.traceparent, (claims, ...value) => (claims.attemptTraceparent = readTraceparent(...value))],
  [replayHeader.operation, (claims, ...value) => (claims.replayOperation = readOperation(...value))],
])

/** The trust table for these headers, resolved once for each kind of topic. */
interface Belief {
  readonly takes: ReadonlyMap<string, Take>
  readonly hasHistory: boolean
  /** Whether the replay headers are trusted only for replays of the own group. */
  readonly needsOwnGroup: boolean
}

function beliefOn(kind: TopicKind): Belief {
  return {
    takes: new Map([...takes].filter(([name]) => headerTrust(name, kind) !== 'IGNORED')),
    hasHistory: headerTrust(tierExceptionHeader(0), kind) !== 'IGNORED',
    needsOwnGroup: headerTrust(replayHeader.count, kind) === 'OWN_GROUP',
  }
}

const beliefs: Readonly<Record<TopicKind, Belief>> = {
  SOURCE: beliefOn('SOURCE'),
  TIER: beliefOn('TIER'),
  WAITING: beliefOn('WAITING'),
  DLT: beliefOn('DLT'),
}

/** Reads the trusted headers in one pass over their bytes. Damaged headers yield no claims. */
export function believedClaims(record: KafkaRecord, kind: TopicKind, groupId: string): Claims {
  const belief = beliefs[kind]
  const claims = new Claims()
  try {
    headerBlockOf(record).visit((name, bytes, _, at, end) => {
      const take = belief.takes.get(name)
      if (take !== undefined) take(claims, bytes, at, end)
      else if (belief.hasHistory) claims.history.take(name, bytes, at, end)
    })
  } catch (error) {
    return unreadable(error, new Claims())
  }
  if (belief.needsOwnGroup && claims.group !== groupId)
    claims.replayCount = claims.replayOperation = claims.attemptTraceparent = undefined
  return claims
}

/** Reads a topic name. An illegal name is ignored: it would be copied from hop to hop and logged, at any length. */
function readTopic(bytes: Buffer, at: number, end: number): string | undefined {
  const topic = readText(bytes, at, end)
  return topic !== undefined && legalTopicName.test(topic) ? topic : undefined
}

/** Reads the id of an operation. Any other text is ignored: it would be copied from hop to hop, at any length. */
function readOperation(bytes: Buffer, at: number, end: number): string | undefined {
  const id = readText(bytes, at, end)
  return id !== undefined && operationId.test(id) ? id : undefined
}

function readTraceparent(bytes: Buffer, at: number, end: number): string | undefined {
  const traceparent = readText(bytes, at, end)
  return traceparent !== undefined && isTraceparent(traceparent) ? traceparent : undefined
}

function readText(bytes: Buffer, at: number, end: number): string | undefined {
  return end < at ? undefined : bytes.toString('utf8', at, end)
}
