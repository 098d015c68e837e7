import type { DeadLetterFacetCounts, DeadLetterRef, FailureGroup, IndexedDeadLetter } from '@waybill/core/internal'
import type { GroupSpark } from '../dead-letters/group-sparks.ts'
import type { IndexSource } from '../dead-letters/letter-indexing.ts'
import { normalizeMessage } from '../dead-letters/normalize-message.ts'
import { instantOf } from '../json/write-json.ts'
import type { Call } from '../route/call.ts'
import { textView } from '../service/payload-view.ts'

type Reader = Pick<Call, 'grants'>

/** Returns the id of a dead letter: where it lies. */
export function idOf({ cluster, topic, partition, offset }: DeadLetterRef): string {
  return `${cluster === 'default' ? '' : `${cluster}:`}${topic}:${partition}:${offset}`
}

/** Returns whether a reader may see keys and messages. */
export function showsPayloads({ grants }: Reader, binding: string | undefined): boolean {
  return grants.allows('payloads:read', binding)
}

/** Returns a dead letter as lists show it. */
export function letterView(letter: IndexedDeadLetter, reader: Reader): object {
  const isShown = showsPayloads(reader, letter.binding)
  return {
    id: idOf(letter),
    binding: letter.binding ?? null,
    consumerGroup: letter.consumerGroup ?? null,
    state: letter.state,
    group: letter.group,
    deadAt: instantOf(letter.deadAtMs),
    reason: letter.reason,
    exception: letter.exception,
    message: textView(letter.message ?? null, isShown),
    event: letter.eventType ?? null,
    eventId: letter.eventId ?? null,
    key: textView(letter.key ?? null, isShown),
    totalAttempts: letter.attempts,
    replayCount: letter.replayCount,
    traceId: letter.traceId ?? null,
    bytes: letter.bytes,
    original: {
      topic: letter.originalTopic,
      partition: letter.originalPartition,
      offset: letter.originalOffset < 0n ? null : letter.originalOffset,
      at: instantOf(letter.originalAtMs),
    },
    operation: letter.operation ?? null,
  }
}

/** Returns a failure group as answers show it. @param spark - its dead letters of the last 24 hours; undefined: not known */
export function groupView(group: FailureGroup, reader: Reader, spark?: GroupSpark): object {
  return {
    group: group.group,
    state: group.state,
    note: group.note ?? null,
    by: group.by ?? null,
    count: group.count,
    firstAt: instantOf(group.firstAtMs),
    lastAt: instantOf(group.lastAtMs),
    binding: group.binding ?? null,
    event: group.eventType ?? null,
    exception: group.exception,
    message: textView(normalizeMessage(group.message), showsPayloads(reader, group.binding)),
    frame: group.frame ?? null,
    replayed: group.replayed,
    failedAgain: group.failedAgain,
    sample: idOf(group.sample),
    spark: spark === undefined ? null : sparkView(spark),
  }
}

function sparkView({ sinceMs, bucketMs, counts }: GroupSpark): object {
  return { since: instantOf(sinceMs), bucketMs, counts }
}

/** Returns the counts of a facet as answers show them. */
export function facetView({ values, other }: DeadLetterFacetCounts): object {
  return { values: values.map(({ value, count }) => ({ value: value === '' ? null : value, count })), other }
}

/** Returns how far an index has read, as answers show it. */
export function sourceView({ mode, upTo, lagRecords, leftOut, unreadClusters }: IndexSource): object {
  const topics: Record<string, Record<string, string>> = {}
  for (const { cluster, topic, partition, next } of upTo)
    (topics[cluster === 'default' ? topic : `${cluster}:${topic}`] ??= {})[partition] = String(next)
  return { mode, upTo: topics, lagRecords, leftOut, unreadClusters }
}
