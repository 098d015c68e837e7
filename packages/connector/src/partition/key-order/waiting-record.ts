/** The records of a waiting topic: how owners and operators write them, and how they are read. */

import { Buffer } from 'node:buffer'
import { type HeaderValue, RecordHeaders, replayHeader } from '@waybill/core'
import { type HeaderPair, originalHeader, type WaitingKind, waitingHeader } from '@waybill/core/internal'
import type { KafkaRecord, OutRecord, TopicPartition } from '@waybill/kafka'
import type { HopWithoutFailure } from '../../records/hop.ts'
import { applicationHeaders, headersOf, pairs } from '../../records/record-headers.ts'
import { retryRecord } from '../../records/retry-record.ts'
import { readTrail } from '../../records/trail.ts'
import type { Original } from './original.ts'

/** The owner of waiting records: a source partition and the group that reads it. */
export interface WaitingPlace {
  readonly source: TopicPartition
  readonly waiting: TopicPartition
  readonly groupId: string
}

/** A record about an original. */
export interface WaitingRecord {
  readonly kind: Exclude<WaitingKind, 'FENCE'>
  /** Its own offset, in the waiting topic. */
  readonly at: bigint
  readonly original: Original
  /** The replay it belongs to; 0 before the first replay. */
  readonly replayCount: number
  readonly tier: number
  readonly attempt: number
  /** Epoch milliseconds. */
  readonly dueMs: number
  readonly record: KafkaRecord
}

/** A record that was read: about an original, a fence behind the writes of previous owners, or not of this group. */
export type WaitingRead = WaitingRecord | { readonly kind: 'FENCE' | 'FOREIGN'; readonly at: bigint }

const kinds: ReadonlySet<string | undefined> = new Set<WaitingKind>(['HELD', 'MARKER', 'FENCE', 'REPLAY', 'RELEASE'])

/** Parses a record of the waiting topic. Never throws: a record that names no original of this source is FOREIGN. */
export function decodeWaiting(record: KafkaRecord, { source, groupId }: WaitingPlace): WaitingRead {
  const headers = headersOf(record)
  const kind = headers.text(waitingHeader.kind)
  if (!kinds.has(kind)) return { kind: 'FOREIGN', at: record.offset }
  if (kind === 'FENCE') return { kind, at: record.offset }
  const trail = readTrail(record, 'WAITING', groupId)
  const { topic, partition, offset, timestamp } = trail.original
  if (topic !== source.topic || partition !== source.partition || trail.isForeign)
    return { kind: 'FOREIGN', at: record.offset }
  return {
    kind: kind as WaitingRecord['kind'],
    at: record.offset,
    original: { offset, timestamp, key: record.key },
    replayCount: trail.replayCount,
    tier: trail.tier,
    attempt: trail.attempt,
    dueMs: headers.timestampMs(waitingHeader.due) ?? 0,
    record,
  }
}

/** The next delivery of a held record. */
export interface NextDelivery {
  readonly tier: number
  /** Within the tier, from 1. */
  readonly attempt: number
  readonly dueMs: number
  /** Of its original in this waiting topic, not in the headers of the source record. */
  readonly replayCount: number
}

/** Creates a held record: it waits for its next attempt, or behind another record of its key. */
export function heldRecord(place: WaitingPlace, hop: HopWithoutFailure, next: NextDelivery): OutRecord {
  const { tier, attempt, dueMs, replayCount } = next
  const record = retryRecord(hop, { ...place.waiting, tier, attempt })
  const headers = RecordHeaders.from(record.headers ?? []).without(replayHeader.count)
  const added = [...countHeader(replayCount), [waitingHeader.kind, 'HELD'], [waitingHeader.due, dueMs]] as const
  return { ...record, headers: [...headers, ...pairs(added)] }
}

/** Creates a marker, which keeps the key of a dead record blocked. */
export function markerRecord(place: WaitingPlace, original: Original, replayCount: number): OutRecord {
  return about(place, 'MARKER', original, replayCount)
}

/** Creates a release, which ends the marker of that replay or an earlier one. */
export function releaseRecord(place: WaitingPlace, original: Original, replayCount: number): OutRecord {
  return about(place, 'RELEASE', original, replayCount)
}

/** Creates a replay: a dead record is delivered again, before all that wait behind it. `replayCount` starts at 1. */
export function replayRecord(
  place: WaitingPlace,
  original: Original,
  replayCount: number,
  content: { readonly value: Buffer | null; readonly headers: Iterable<HeaderPair> },
): OutRecord {
  const headers = [
    ...applicationHeaders(RecordHeaders.from(content.headers)),
    ...originalHeaders(place, 'REPLAY', original, replayCount),
  ]
  return { ...place.waiting, key: original.key, value: content.value, headers }
}

/** Creates a copy of a record for the end of the log. */
export function repeatedRecord(place: WaitingPlace, { record }: WaitingRecord): OutRecord {
  return { ...place.waiting, key: record.key, value: record.value, headers: [...headersOf(record)] }
}

/** Creates a fence: behind it the broker refuses the epochs of previous owners. */
export function fenceRecord(place: WaitingPlace, epoch: number): OutRecord {
  const headers = pairs([
    [waitingHeader.kind, 'FENCE'],
    [waitingHeader.epoch, epoch],
  ])
  return { ...place.waiting, key: null, value: null, headers: [...headers] }
}

/** Copies a record, so that it does not keep the memory of its whole fetched batch alive. */
export function ownRecord(record: KafkaRecord): KafkaRecord {
  const { topic, partition, offset, timestamp, epoch, key, value } = record
  const copied = Array.from(headersOf(record), ([name, bytes]): HeaderPair => [name, copyOf(bytes)])
  const headers = RecordHeaders.from(copied)
  const own = { topic, partition, offset, timestamp, epoch, key: copyOf(key), value: copyOf(value), headers }
  return record.byteLength === undefined ? own : { ...own, byteLength: record.byteLength }
}

function about(place: WaitingPlace, kind: WaitingKind, original: Original, replayCount: number): OutRecord {
  return {
    ...place.waiting,
    key: original.key,
    value: null,
    headers: [...originalHeaders(place, kind, original, replayCount)],
  }
}

/** Returns the headers that name an original and describe its state. */
function originalHeaders(
  { source, groupId }: WaitingPlace,
  kind: WaitingKind,
  original: Original,
  replayCount: number,
): Iterable<HeaderPair> {
  return pairs([
    [originalHeader.topic, source.topic],
    [originalHeader.partition, source.partition],
    [originalHeader.offset, original.offset],
    [originalHeader.timestamp, original.timestamp],
    [replayHeader.consumerGroup, groupId],
    ...countHeader(replayCount),
    [waitingHeader.kind, kind],
  ])
}

function countHeader(replayCount: number): (readonly [string, HeaderValue])[] {
  return replayCount > 0 ? [[replayHeader.count, replayCount]] : []
}

function copyOf(bytes: Buffer | null): Buffer | null {
  return bytes === null ? null : Buffer.from(bytes)
}
