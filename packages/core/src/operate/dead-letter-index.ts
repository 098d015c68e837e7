import type { DeadLetterReason } from '../header/header-names.ts'
import type { Page, PageQuery } from '../page.ts'

/** The state of a dead letter, beyond what its topic holds. */
export type DeadLetterState =
  /** Nothing was done about it. */
  | 'OPEN'
  /** Its copy is confirmed and has no outcome yet. */
  | 'REPLAYED'
  | 'SUCCEEDED'
  /** Its copy went to a retry tier or became a dead letter. */
  | 'FAILED_AGAIN'
  /** Closed by an operator. */
  | 'RESOLVED'
  | 'IGNORED'
  /** Its key continues without it. */
  | 'RELEASED'
  /** Its topic does not hold it any more. */
  | 'GONE'

/** The position of a dead letter. */
export interface DeadLetterRef {
  readonly cluster: string
  readonly topic: string
  readonly partition: number
  readonly offset: bigint
}

/** A dead letter in an index. It has no value and no header values: an index is not a second copy of payloads. */
export interface IndexedDeadLetter extends DeadLetterRef {
  /** The key of the binding; undefined if no binding of this connector wrote it. */
  readonly binding: string | undefined
  readonly consumerGroup: string | undefined
  readonly originalTopic: string
  readonly originalPartition: number
  readonly originalOffset: bigint
  readonly originalAtMs: number | undefined
  readonly deadAtMs: number
  readonly reason: DeadLetterReason
  readonly exception: string
  /** The message of the error; empty if the index must not hold messages. */
  readonly message: string
  /** The first line of the stack in the application's own code. */
  readonly frame: string | undefined
  /** The fingerprint: dead letters with the same cause share it. */
  readonly group: string
  readonly eventType: string | undefined
  readonly eventId: string | undefined
  /** The key as text, cut at 256 bytes; undefined if there is none or the index must not hold keys. */
  readonly key: string | undefined
  readonly attempts: number
  readonly replayCount: number
  readonly traceId: string | undefined
  /** Size of key, value and headers. */
  readonly bytes: number
  readonly state: DeadLetterState
  /** The operation that set the state. */
  readonly operation: string | undefined
}

/** Which dead letters are meant. Absent members select all; instants are epoch ms, `untilMs` is excluded. */
export interface DeadLetterFilter {
  readonly cluster?: string | undefined
  readonly binding?: string | undefined
  /** One of these bindings. */
  readonly bindings?: readonly string[] | undefined
  readonly topic?: string | undefined
  readonly group?: string | undefined
  readonly eventType?: string | undefined
  readonly exception?: string | undefined
  readonly reason?: DeadLetterReason | undefined
  readonly states?: readonly DeadLetterState[] | undefined
  /** The whole key, or its beginning with a final `*`. */
  readonly key?: string | undefined
  readonly sinceMs?: number | undefined
  readonly untilMs?: number | undefined
  readonly minAttempts?: number | undefined
  readonly replayCount?: number | undefined
  readonly traceId?: string | undefined
  /** A part of the error message or of the key, whatever its case. */
  readonly text?: string | undefined
  /** All dead letters of one record. */
  readonly original?: OriginalRef | undefined
  readonly eventId?: string | undefined
  /** The operation that set the state. */
  readonly operation?: string | undefined
}

/** The position of the record that became a dead letter. */
export interface OriginalRef {
  readonly topic: string
  readonly partition: number
  readonly offset: bigint
}

/** Dead letters with the same fingerprint. */
export interface FailureGroup {
  readonly group: string
  /** A RESOLVED group is OPEN again as soon as it has a newer dead letter. */
  readonly state: FailureGroupState
  readonly note: string | undefined
  /** The operator who set state or note last. */
  readonly by: string | undefined
  readonly count: bigint
  readonly firstAtMs: number
  readonly lastAtMs: number
  /** Of the newest dead letter. */
  readonly binding: string | undefined
  readonly eventType: string | undefined
  readonly exception: string
  readonly message: string
  readonly frame: string | undefined
  readonly sample: DeadLetterRef
  readonly replayed: bigint
  readonly failedAgain: bigint
}

/** The dead letters of a failure group that died within one hour. */
export interface FailureGroupHour {
  readonly group: string
  /** Hours since the epoch. */
  readonly hour: number
  readonly count: bigint
}

export type FailureGroupState = 'OPEN' | 'RESOLVED' | 'IGNORED'

export type FailureGroupOrder = 'COUNT' | 'FIRST' | 'LAST'

export type DeadLetterFacet = 'eventType' | 'exception' | 'binding' | 'reason' | 'state'

/** The values of a facet with their counts, most frequent first: at most 50, and the sum of all others. */
export interface DeadLetterFacetCounts {
  readonly values: readonly { readonly value: string; readonly count: bigint }[]
  readonly other: bigint
}

/** The next offset that the index reads from a partition. */
export interface IndexPosition {
  readonly cluster: string
  readonly topic: string
  readonly partition: number
  readonly next: bigint
  /** The version of the rule that grouped the dead letters below it. */
  readonly rule: string
}

/** The move of a position by a reader. */
export interface IndexMove extends IndexPosition {
  /** The position that the reader continued from; undefined if there was none, or one of another rule. */
  readonly after: bigint | undefined
}

/** Dead letters as rows that can be searched, with their states. It can be deleted and filled again. */
export interface DeadLetterIndex {
  readonly mode: 'INDEX' | 'MEMORY'
  /** The number of dead letters that were left out to stay within a bound. @defaultValue none is left out */
  readonly leftOut?: number | undefined
  /**
   * Adds dead letters and moves positions, in one step. Dead letters that are known keep their state. Each new one with a
   * higher replay count turns the REPLAYED ones of the same record FAILED_AGAIN.
   * @returns false, with nothing changed, if another reader moved one of the positions: read them again
   */
  put(letters: readonly IndexedDeadLetter[], moves: readonly IndexMove[]): Promise<boolean>
  positions(cluster: string, topic: string): Promise<readonly IndexPosition[]>
  /** Lists dead letters, newest first, and counts them. */
  query(filter: DeadLetterFilter, page: PageQuery): Promise<Page<IndexedDeadLetter>>
  /** Lists failure groups with the counts of the dead letters that the filter selects: the highest first. */
  groups(filter: DeadLetterFilter, order: FailureGroupOrder, page: PageQuery): Promise<Page<FailureGroup>>
  /**
   * Counts the dead letters of groups by the hour in which they died, from an hour on. Hours without any are left out. Of a
   * filter it takes only the bindings, since the hourly counts know nothing else of a dead letter.
   * @defaultValue hours are not known
   */
  groupHours?(
    filter: Pick<DeadLetterFilter, 'bindings'>,
    groups: readonly string[],
    fromHour: number,
  ): Promise<readonly FailureGroupHour[]>
  facets(
    filter: DeadLetterFilter,
    by: readonly DeadLetterFacet[],
  ): Promise<Readonly<Partial<Record<DeadLetterFacet, DeadLetterFacetCounts>>>>
  get(ref: DeadLetterRef): Promise<IndexedDeadLetter | undefined>
  /**
   * Changes states, only from one of `from`: of two operations on a dead letter one wins.
   * @returns those that are in the new state by this operation now, also if an earlier call did it
   */
  mark(
    refs: readonly DeadLetterRef[],
    from: readonly DeadLetterState[],
    to: DeadLetterState,
    operation: string | undefined,
  ): Promise<readonly DeadLetterRef[]>
  /** Sets the state or the note of a failure group; the states of its dead letters stay. A null note removes it. */
  annotate(
    group: string,
    change: { readonly state?: FailureGroupState; readonly note?: string | null },
    by: string,
  ): Promise<void>
  /** Deletes the dead letters of a partition below an offset; returns their number. */
  forget(partition: Omit<DeadLetterRef, 'offset'>, before: bigint): Promise<number>
  /** Deletes everything about a topic, so that it is read again from its beginning. */
  reset(cluster: string, topic: string): Promise<void>
}
