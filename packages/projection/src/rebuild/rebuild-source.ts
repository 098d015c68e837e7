import type { Schemas, WireRecord } from '@waybill/core'
import type { BuildPosition } from '@waybill/core/internal'
import type { Projection } from '../definition/projection.ts'
import { topicsOf } from '../definition/topics-of.ts'

/** A partition of a source, and the offsets that it has now. */
export interface SourcePartition {
  readonly topic: string
  readonly partition: number
  /** The first offset that still exists. */
  readonly start: bigint
  /** The offset behind the last record. */
  readonly end: bigint
}

/** A record of a source. */
export interface SourceRecord extends WireRecord {
  readonly topic: string
  readonly partition: number
  readonly offset: bigint
}

/** Reads one range of offsets. */
export interface SourceReader extends AsyncDisposable {
  /** Returns the next records, in order; undefined when the range is read. */
  next(maxRecords: number): Promise<readonly SourceRecord[] | undefined>
}

/** The log that a rebuild reads, outside of the group of the live binding. */
export interface RebuildSource {
  partitions(): Promise<readonly SourcePartition[]>
  /** Returns why a rebuild from here could not be complete; undefined if the log reaches the first event of every key. */
  incomplete(): Promise<string | undefined>
  open(partition: Pick<SourcePartition, 'topic' | 'partition'>, from: bigint, until: bigint): SourceReader
}

/** An event from before the log: of kept outbox rows, an archive, or an export. */
export interface HistoricalEvent extends WireRecord {
  /** Rises with each event. A rebuild that was interrupted continues behind the last one it applied. */
  readonly position: bigint
}

/**
 * Events from before the log: `outboxHistory(database, { events })` of @waybill/sql for kept outbox rows, or a function of your
 * own.
 */
export interface EventHistory {
  /** Yields the events after a position; those of a key in the order of their versions. */
  (after: bigint): AsyncIterable<HistoricalEvent>
  /**
   * Returns why a rebuild from here could not be complete; undefined if the history reaches version 1 of each key. A rebuild
   * asks before it writes anything. @defaultValue a missing event fails the rebuild once its key has been read
   */
  readonly incomplete?: (() => Promise<string | undefined>) | undefined
}

/** Returns positions, none of them behind the end of its log: a topic that was created again is shorter than before. */
export function withinLog(
  positions: readonly BuildPosition[],
  partitions: readonly SourcePartition[],
): readonly BuildPosition[] {
  return positions.map((position) => {
    const end = partitions.find((one) => samePartition(one, position))?.end ?? 0n
    return position.next > end ? { ...position, next: end } : position
  })
}

/**
 * Returns the positions of topics that a projection reads. A live table may have others: of a history, or of topics that
 * only its own revision reads.
 */
export function positionsRead(
  projection: Pick<Projection<Schemas, unknown>, 'events'>,
  positions: readonly BuildPosition[],
): readonly BuildPosition[] {
  const topics = topicsOf(projection)
  return positions.filter(({ topic }) => topics.has(topic))
}

/** Returns whether two values are of the same partition. */
export function samePartition(
  one: Pick<SourcePartition, 'topic' | 'partition'>,
  other: Pick<SourcePartition, 'topic' | 'partition'>,
): boolean {
  return one.topic === other.topic && one.partition === other.partition
}

/** Returns the number of offsets of a partition that a build does not include. */
export function left({ start, end, ...partition }: SourcePartition, positions: readonly BuildPosition[]): bigint {
  const next = positions.find((position) => samePartition(partition, position))?.next ?? 0n
  const from = next > start ? next : start
  return end > from ? end - from : 0n
}
