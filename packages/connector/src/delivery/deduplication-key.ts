import { ArgumentError } from '@waybill/core'
import { type TopicKind, takeRejection } from '@waybill/core/internal'
import type { KafkaRecord } from '@waybill/kafka'
import type { DeduplicationKey } from '../api/binding.ts'
import { naturalKeyOf } from '../handlers/natural-key.ts'
import { readTrail } from '../records/trail.ts'

/**
 * Returns the key of a record, the same on every topic. Throws what the user's key function throws.
 * @param kind - of the topic that it is delivered from
 */
export type KeyOf = (record: KafkaRecord, kind: TopicKind, eventId: string | undefined) => string

/** The scope within which keys are unique. */
export interface KeyScope {
  readonly cluster: string
  /** The binding's, on its tiers too. */
  readonly groupId: string
}

/** Returns the user's key function, or the default. */
export function createKeyOf(own: DeduplicationKey | undefined, { cluster, groupId }: KeyScope): KeyOf {
  if (own === undefined)
    return (record, kind, eventId) => eventId ?? placeKey(readTrail(record, kind, groupId), cluster)
  return (record, kind, eventId) => {
    const naturalKey = naturalKeyOf(readTrail(record, kind, groupId))
    return requireKey(own({ record, naturalKey, eventId }))
  }
}

/**
 * Builds the default key. The natural key alone is not unique across clusters, nor for a topic that was deleted and
 * created again: its offsets restart while marks are kept. A record that is taken for a handled one would be lost.
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
