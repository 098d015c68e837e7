import type { DeadLetterReason } from '@waybill/core'
import {
  type DeadLetterRef,
  type DeadLetterState,
  type IndexedDeadLetter,
  searchedTextOf,
} from '@waybill/core/internal'
import type { SqlDialect } from '../database/sql-database.ts'
import { asText, type FoundRow } from '../operation/admin-statement.ts'

/** The columns of a dead letter, in the order of {@link valuesOf}. A missing binding or event type is an empty text. */
export const letterColumns = [
  'cluster',
  'topic',
  'part',
  'record_offset',
  'binding',
  'consumer_group',
  'original_topic',
  'original_part',
  'original_offset',
  'original_at',
  'dead_at',
  'reason',
  'exception',
  'message',
  'frame',
  'group_id',
  'event_type',
  'event_id',
  'record_key',
  'attempts',
  'replay_count',
  'trace_id',
  'bytes',
  'state',
  'operation',
  'searched',
] as const

/** Returns the values of a row. */
export function valuesOf(letter: IndexedDeadLetter): readonly unknown[] {
  return [
    letter.cluster,
    letter.topic,
    letter.partition,
    letter.offset,
    letter.binding ?? '',
    letter.consumerGroup ?? null,
    letter.originalTopic,
    letter.originalPartition,
    letter.originalOffset,
    letter.originalAtMs ?? null,
    letter.deadAtMs,
    letter.reason,
    letter.exception,
    letter.message,
    letter.frame ?? null,
    letter.group,
    letter.eventType ?? '',
    letter.eventId ?? null,
    letter.key ?? null,
    letter.attempts,
    letter.replayCount,
    letter.traceId ?? null,
    letter.bytes,
    letter.state,
    letter.operation ?? null,
    searchedTextOf(letter),
  ]
}

/** Returns the list of columns to select, all that a dead letter has. */
export function selectedColumns(dialect: SqlDialect): string {
  return letterColumns
    .filter((name) => name !== 'searched')
    .map((name) => (name.endsWith('_offset') ? `${asText(name, dialect)} AS ${name}_text` : name))
    .join(', ')
}

/** Returns the dead letter of a row of {@link selectedColumns}. */
export function letterOf(row: FoundRow): IndexedDeadLetter {
  return {
    ...refOf(row),
    binding: emptyIsNone(row['binding']),
    consumerGroup: textOf(row['consumer_group']),
    originalTopic: String(row['original_topic']),
    originalPartition: Number(row['original_part']),
    originalOffset: BigInt(String(row['original_offset_text'])),
    originalAtMs: row['original_at'] === null ? undefined : Number(row['original_at']),
    deadAtMs: Number(row['dead_at']),
    reason: String(row['reason']) as DeadLetterReason,
    exception: String(row['exception']),
    message: String(row['message']),
    frame: textOf(row['frame']),
    group: String(row['group_id']),
    eventType: emptyIsNone(row['event_type']),
    eventId: textOf(row['event_id']),
    key: textOf(row['record_key']),
    attempts: Number(row['attempts']),
    replayCount: Number(row['replay_count']),
    traceId: textOf(row['trace_id']),
    bytes: Number(row['bytes']),
    state: String(row['state']) as DeadLetterState,
    operation: textOf(row['operation']),
  }
}

/** Returns the position of a dead letter. */
export function refOf(row: FoundRow): DeadLetterRef {
  return {
    cluster: String(row['cluster']),
    topic: String(row['topic']),
    partition: Number(row['part']),
    offset: BigInt(String(row['record_offset_text'])),
  }
}

/** Returns the text that identifies a dead letter in memory. */
export function refKey({ cluster, topic, partition, offset }: DeadLetterRef): string {
  return `${offset}/${partition}/${topic}/${cluster}`
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function emptyIsNone(value: unknown): string | undefined {
  return value === '' ? undefined : textOf(value)
}
