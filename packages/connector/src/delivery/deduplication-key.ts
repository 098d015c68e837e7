import { ArgumentError } from '@waybill/core'
import { type TopicKind, takeRejection } from '@waybill/core/internal'
import type { KafkaRecord } from '@waybill/kafka'
import type { DeduplicationKey } from '../api/binding.ts'
import { naturalKeyOf } from '../handlers/natural-key.ts'
import { readTrail } from '../records/trail.ts'

/**
 * The key of a record, the same wherever it lies. Throws what a key of the user's throws.
 * @param kind - of the topic that it is delivered from
 */
export type KeyOf = (record: KafkaRecord, kind: TopicKind, eventId: string | undefined) => string

/** Whose records are told apart. */
export interface KeyScope {
  readonly cluster: string
  /** The binding's, on its tiers too. */
  readonly groupId: string
}

/** The user's key, or the one that is right for most. */
export function createKeyOf(own: DeduplicationKey | undefined, { cluster, groupId }: KeyScope): KeyOf {
  if (own === undefined)
    return (record, kind, eventId) => eventId ?? placeKey(readTrail(record, kind, groupId), cluster)
  return (record, kind, eventId) => {
    const naturalKey = naturalKeyOf(readTrail(record, kind, groupId))
    return requireKey(own({ record, naturalKey, eventId }))
  }
}

/**
 * The natural key alone would take a record for another one: of another cluster, or of a topic that was deleted and
 * created again, whose offsets begin anew while marks are kept. A record that looks handled and is not would be lost.
 */
function placeKey(trail: ReturnType<typeof readTrail>, cluster: string): string {
  return `${cluster}/${naturalKeyOf(trail)}@${trail.original.timestamp}`
}

/** Also of a promise, which would be the same text for every record. */
function requireKey(key: unknown): string {
  if (typeof key === 'string' && key !== '') return key
  takeRejection(key)
  throw new ArgumentError('deduplicate.key must answer a text that is not empty, and no promise.', {
    impact: 'The record is not handled and not marked.',
    hint: 'Answer naturalKey where the record has nothing better.',
  })
}
