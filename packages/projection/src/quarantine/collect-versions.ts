import type { Schemas } from '@waybill/core'
import type { QuarantinedKey } from '@waybill/core/internal'
import type { Projection } from '../definition/projection.ts'
import { decodeRecords } from '../fold/decode-records.ts'
import type { AnyProjectedEvent } from '../fold/fold-batch.ts'
import type { DeadEvent } from './dead-events.ts'

/** An event of a quarantined key. */
export interface FoundVersion {
  readonly version: number
  readonly event: AnyProjectedEvent
}

/** The events of a key that its row needs. */
export interface FoundVersions {
  /** In the order of their versions, each version once. */
  readonly events: readonly FoundVersion[]
  /** The versions that are missing up to the last one seen. */
  readonly missing: readonly number[]
}

/** The versions that a preview lists. */
const mostMissing = 1_000

/** Collects the events of a quarantined key from dead letters in any order. Records that are no events are passed over. */
export async function collectVersions(
  projection: Projection<Schemas, unknown>,
  { key, expected, last }: QuarantinedKey,
  dead: AsyncIterable<DeadEvent>,
): Promise<FoundVersions> {
  const keyBytes = Buffer.from(key)
  const byVersion = new Map<number, AnyProjectedEvent>()
  for await (const record of dead) {
    // Most dead letters belong to other keys: these are not decoded.
    if (record.key === null || !keyBytes.equals(record.key)) continue
    const { events } = await decodeRecords(projection, [record])
    const version = events[0]?.aggregateVersion
    if (events[0] !== undefined && typeof version === 'number' && version >= expected) byVersion.set(version, events[0])
  }
  const highest = Math.max(last, ...byVersion.keys())
  const missing: number[] = []
  for (let version = expected; version <= highest && missing.length < mostMissing; version++)
    if (!byVersion.has(version)) missing.push(version)
  const events = [...byVersion].map(([version, event]) => ({ version, event }))
  return { events: events.toSorted((one, other) => one.version - other.version), missing }
}
