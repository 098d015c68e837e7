import { ArgumentError } from '@waybill/core'
import { type TopicKind, takeRejection } from '@waybill/core/internal'
import type { KafkaRecord } from '@waybill/kafka'
import type { DeduplicationKey } from '../api/binding.ts'
import { naturalKeyOf } from '../handlers/natural-key.ts'
import { readTrail } from '../records/trail.ts'

/** The keys of a record. */
export interface MarkKeys {
  /** The key that its mark is written with. */
  readonly key: string
  /** A key that an earlier version, or a process with another setting, may have marked it with. */
  readonly former: string | undefined
}

/**
 * Returns the keys of a record, the same on every topic. Throws what the user's key function throws.
 * @param kind - of the topic that it is delivered from
 */
export type KeyOf = (record: KafkaRecord, kind: TopicKind, eventId: string | undefined) => MarkKeys

/** The scope within which keys are unique. */
export interface KeyScope {
  readonly cluster: string
  /** The binding's, on its tiers too. */
  readonly groupId: string
}

/** Returns the keys that the option `deduplicate.key` names. */
export function createKeyOf(own: DeduplicationKey | 'EVENT_ID' | undefined, { cluster, groupId }: KeyScope): KeyOf {
  if (typeof own === 'function')
    return (record, kind, eventId) => {
      const naturalKey = naturalKeyOf(readTrail(record, kind, groupId))
      return { key: requireKey(own({ record, naturalKey, eventId })), former: undefined }
    }
  return (record, kind, eventId) => {
    const trail = readTrail(record, kind, groupId)
    if (eventId === undefined) return { key: placeKey(trail, cluster), former: undefined }
    const inTopic = eventKey(trail.original.topic, eventId)
    return own === 'EVENT_ID' ? { key: eventId, former: inTopic } : { key: inTopic, former: eventId }
  }
}

/**
 * Builds the default key of an event. The id alone would let a producer of one topic suppress an event of another that the
 * group reads. No topic name contains a slash, so two pairs never share a key.
 */
function eventKey(topic: string, eventId: string): string {
  return `topic:${topic}/${eventId}`
}

/**
 * Builds the default key of other records. The natural key alone is not unique across clusters, nor for a topic that was
 * deleted and created again: its offsets restart while marks are kept. A record mistaken for a handled one would be
 * lost.
 */
function placeKey(trail: ReturnType<typeof readTrail>, cluster: string): string {
  return `${cluster}/${naturalKeyOf(trail)}@${trail.original.timestamp}`
}

/** Refuses a promise too: as text it would be the same for every record. */
function requireKey(key: unknown): string {
  if (typeof key === 'string' && key !== '') return key
  takeRejection(key)
  throw new ArgumentError('deduplicate.key must return a string that is not empty, not a promise.', {
    impact: 'The record is not handled and not marked.',
    hint: 'Return naturalKey if the record has no better key.',
  })
}
