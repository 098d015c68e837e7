import {
  attemptTraceHeader,
  deadLetterHeader,
  deliveryHeader,
  enginePrefix,
  isTierTrailHeader,
  originalHeader,
  replayHeader,
  retryHeader,
  waitingHeader,
} from './header-names.ts'
import type { RecordHeaders } from './headers.ts'

/** The role of a topic for the binding that reads it: source, retry tier, waiting topic or dead letter topic. */
export type TopicKind = 'SOURCE' | 'TIER' | 'WAITING' | 'DLT'

/**
 * Whether the engine believes a header. OWN_GROUP: only on a record whose consumer group header names the reading
 * binding's group.
 */
export type HeaderTrust = 'TRUSTED' | 'OWN_GROUP' | 'IGNORED'

/** The trust in one family of headers, per kind of topic. */
export interface HeaderTrustRow extends Readonly<Record<TopicKind, HeaderTrust>> {
  /** The name of the family in the documentation. */
  readonly family: string
  /** True for the names the row is about. */
  readonly covers: (name: string) => boolean
}

/**
 * The engine headers that are trusted on each kind of topic.
 *
 * Anybody who may write to a source topic can forge them there, and a forged original offset makes a record look handled
 * that never was. Derived topics are written by connectors only, so a header is believed on the kinds of topic that a
 * connector writes it to. A name that no row covers is believed nowhere.
 */
export const headerTrustTable: readonly HeaderTrustRow[] = Object.freeze([
  // name, headers, then the trust on SOURCE, TIER, WAITING, DLT
  row('original', among(originalHeader), 'IGNORED', 'TRUSTED', 'TRUSTED', 'TRUSTED'),
  row('retry', among(retryHeader), 'IGNORED', 'TRUSTED', 'TRUSTED', 'TRUSTED'),
  row('tier trail', isTierTrailHeader, 'IGNORED', 'TRUSTED', 'TRUSTED', 'TRUSTED'),
  row('replay', among(replayHeader), 'OWN_GROUP', 'TRUSTED', 'TRUSTED', 'TRUSTED'),
  row('attempt trace', among(attemptTraceHeader), 'OWN_GROUP', 'TRUSTED', 'TRUSTED', 'TRUSTED'),
  row('waiting', among(waitingHeader), 'IGNORED', 'IGNORED', 'TRUSTED', 'IGNORED'),
  row('dead letter', among(deadLetterHeader), 'IGNORED', 'IGNORED', 'IGNORED', 'TRUSTED'),
  row('delivery', among(deliveryHeader), 'IGNORED', 'IGNORED', 'IGNORED', 'IGNORED'),
])

/**
 * Removes engine headers that are not trusted on this kind of topic. Decisions use the result, and derived records start
 * from it: a forged header that was copied would be trusted at the next hop. Without engine headers, the common case, the
 * given list is returned.
 */
export function trustedHeaders(headers: RecordHeaders, kind: TopicKind, groupId: string): RecordHeaders {
  // Asked once: a record may hold tens of thousands of replay headers, and looking for the group walks all of them.
  let isOwnGroup: boolean | undefined
  return headers.without((name) => {
    const trust = headerTrust(name, kind)
    if (trust !== 'OWN_GROUP') return trust === 'IGNORED'
    isOwnGroup ??= headers.text(replayHeader.consumerGroup) === groupId
    return !isOwnGroup
  })
}

/**
 * True for a record on a source topic that claims to be a replay for another group. Any producer can forge the claim: compare
 * the record with its original before it is skipped.
 *
 * A replay is written to the topic it came from. What was copied with its headers to another one is meant for the readers
 * of that one: a dead letter, or what a service made of the record.
 */
export function isReplayForOtherGroup(headers: RecordHeaders, groupId: string, topic: string): boolean {
  if (!headers.has(replayHeader.count) || headers.has(deadLetterHeader.reason)) return false
  if ((headers.text(originalHeader.topic) ?? topic) !== topic) return false
  const addressee = headers.text(replayHeader.consumerGroup)
  return addressee !== undefined && addressee !== groupId
}

/** Whether a header of this name is believed on this kind of topic. The application's are always. */
export function headerTrust(name: string, kind: TopicKind): HeaderTrust {
  if (!name.startsWith(enginePrefix)) return 'TRUSTED'
  return headerTrustTable.find((entry) => entry.covers(name))?.[kind] ?? 'IGNORED'
}

function row(
  family: string,
  covers: (name: string) => boolean,
  ...[SOURCE, TIER, WAITING, DLT]: [HeaderTrust, HeaderTrust, HeaderTrust, HeaderTrust]
): HeaderTrustRow {
  return Object.freeze({ family, covers, SOURCE, TIER, WAITING, DLT })
}

function among(names: Readonly<Record<string, string>>): (name: string) => boolean {
  const known = new Set(Object.values(names))
  return (name) => known.has(name)
}
