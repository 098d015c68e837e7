import {
  type Clock,
  decodeEvent,
  describeThrown,
  type EventCatalog,
  isWaybillError,
  type Schemas,
  systemRuntime,
} from '@waybill/core'
import { type ReadBounds, ReadBudget } from './read-budget.ts'
import type { WaitingReading, WaitingRecord, WaitingSource } from './waiting-source.ts'

/** The new catalog, the places where records wait, and how much of them is read. */
export interface CheckWaitingOptions<S extends Schemas = Schemas> extends ReadBounds {
  /** The catalog that is about to be deployed. */
  readonly events: EventCatalog<S>
  readonly sources: readonly WaitingSource[]
  /** @defaultValue the system's */
  readonly clock?: Clock | undefined
}

/** Waiting records of one event and version. */
export interface WaitingCount {
  /** Null for records that name no event. */
  readonly event: string | null
  readonly version: number | null
  readonly count: number
  /** Records that the catalog cannot read. */
  readonly failed: number
  /** Those among the failed that no consumer could read before. */
  readonly knownUnreadable: number
  /** The first failure. */
  readonly failure?: { readonly place: string; readonly code: string; readonly message: string } | undefined
}

/** The result of a check of waiting records. */
export interface WaitingReport {
  readonly readings: readonly WaitingReading[]
  readonly counts: readonly WaitingCount[]
  /** True if the catalog reads every record that was read, except those that were unreadable before. */
  readonly passes: boolean
  /** True if nothing was left out. */
  readonly isComplete: boolean
}

/**
 * Decodes, upcasts and validates the records that wait in topics and outboxes with a catalog, as its consumers will. Nothing
 * is changed or committed. What is not read is in the report.
 */
export async function checkWaiting<S extends Schemas>(options: CheckWaitingOptions<S>): Promise<WaitingReport> {
  const { events, sources, clock = systemRuntime.clock, ...bounds } = options
  const budget = new ReadBudget(bounds, clock)
  const counts = new Map<string, MutableCount>()
  const readings: WaitingReading[] = []
  for (const source of sources) readings.push(...(await source.read(budget, (record) => count(events, record, counts))))
  const listed = [...counts.values()].toSorted(byName)
  return {
    readings,
    counts: listed,
    passes: listed.every(({ failed, knownUnreadable }) => failed === knownUnreadable),
    isComplete: readings.every(({ endedBy, unread }) => endedBy === null && unread === 0),
  }
}

/** Records without an event first. */
function byName(one: WaitingCount, other: WaitingCount): number {
  const [name, otherName] = [one.event ?? '', other.event ?? '']
  if (name !== otherName) return name < otherName ? -1 : 1
  return (one.version ?? 0) - (other.version ?? 0)
}

type MutableCount = { -readonly [K in keyof WaitingCount]: WaitingCount[K] }

async function count<S extends Schemas>(
  events: EventCatalog<S>,
  record: WaitingRecord,
  counts: Map<string, MutableCount>,
): Promise<void> {
  const { event, version } = nameOf(events, record)
  const key = JSON.stringify([event, version])
  const counted = counts.get(key) ?? { event, version, count: 0, failed: 0, knownUnreadable: 0 }
  counts.set(key, counted)
  counted.count += 1
  try {
    if (record.wire instanceof Error) throw record.wire
    await decodeEvent(events, record.wire)
  } catch (error) {
    counted.failed += 1
    if (record.wasUnreadable) counted.knownUnreadable += 1
    else
      counted.failure ??= {
        place: record.place,
        code: isWaybillError(error) ? error.code : 'UNKNOWN',
        message: describeThrown(error),
      }
  }
}

function nameOf<S extends Schemas>(
  { wireFormat }: EventCatalog<S>,
  { wire }: WaitingRecord,
): { readonly event: string | null; readonly version: number | null } {
  try {
    if (wire instanceof Error) throw wire
    const { eventType, eventVersion } = wireFormat.decode(wire)
    return { event: eventType, version: eventVersion }
  } catch {
    return { event: null, version: null } // The decoding of the record reports why.
  }
}
