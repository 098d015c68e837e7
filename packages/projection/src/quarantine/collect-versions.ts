import type { Schemas, WireRecord } from '@waybill/core'
import type { Projection } from '../definition/projection.ts'
import { decodeRecords } from '../fold/decode-records.ts'
import type { AnyProjectedEvent } from '../fold/fold-batch.ts'

/** An event of a quarantined key. */
export interface FoundVersion {
  readonly version: number
  readonly event: AnyProjectedEvent
}

/** Events of one key in the order of their versions, each version once. */
export type FoundVersions = readonly FoundVersion[]

/** The record of an event, with its original key, value and headers. */
type EventRecord = Pick<WireRecord, 'key' | 'value' | 'headers'>

/**
 * Collects the events of keys above the versions of their rows, from records in any order. Records that are no events are
 * passed over.
 */
export async function collectVersions(
  projection: Projection<Schemas, unknown>,
  versions: ReadonlyMap<string, number>,
  records: AsyncIterable<EventRecord>,
): Promise<ReadonlyMap<string, FoundVersions>> {
  const byKey = new Map([...versions.keys()].map((key) => [key, new Map<number, AnyProjectedEvent>()]))
  for await (const record of records) {
    // Most records belong to other keys: these are not decoded.
    const key = record.key === null ? undefined : String(record.key)
    const found = key === undefined ? undefined : byKey.get(key)
    if (key === undefined || found === undefined) continue
    const { events } = await decodeRecords(projection, [record])
    const version = events[0]?.aggregateVersion
    if (events[0] !== undefined && typeof version === 'number' && version > (versions.get(key) ?? 0))
      found.set(version, events[0])
  }
  return new Map(
    [...byKey].map(([key, found]) => {
      const events = [...found].map(([version, event]) => ({ version, event }))
      return [key, events.toSorted((one, other) => one.version - other.version)]
    }),
  )
}
