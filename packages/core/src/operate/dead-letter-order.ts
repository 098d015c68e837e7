/** Selects and orders dead letters of an index: the same in memory and in databases. Pure. */

import type {
  DeadLetterFilter,
  DeadLetterRef,
  FailureGroup,
  FailureGroupOrder,
  FailureGroupState,
  IndexedDeadLetter,
} from './dead-letter-index.ts'

/** The position of a dead letter in a list. */
export type LetterPlace = DeadLetterRef & Pick<IndexedDeadLetter, 'deadAtMs'>

/** Returns whether a filter selects a dead letter. */
export function isSelectedLetter(letter: IndexedDeadLetter, filter: DeadLetterFilter): boolean {
  const { binding, bindings, states, sinceMs, untilMs, minAttempts, original, key, text, operation } = filter
  return (
    (filter.cluster ?? letter.cluster) === letter.cluster &&
    (binding === undefined || letter.binding === binding) &&
    (bindings === undefined || (letter.binding !== undefined && bindings.includes(letter.binding))) &&
    (filter.topic ?? letter.topic) === letter.topic &&
    (filter.group ?? letter.group) === letter.group &&
    (filter.eventType === undefined || letter.eventType === filter.eventType) &&
    (filter.exception ?? letter.exception) === letter.exception &&
    (filter.reason ?? letter.reason) === letter.reason &&
    (states === undefined || states.includes(letter.state)) &&
    (sinceMs === undefined || letter.deadAtMs >= sinceMs) &&
    (untilMs === undefined || letter.deadAtMs < untilMs) &&
    (minAttempts === undefined || letter.attempts >= minAttempts) &&
    (filter.replayCount ?? letter.replayCount) === letter.replayCount &&
    (filter.traceId === undefined || letter.traceId === filter.traceId) &&
    (operation === undefined || letter.operation === operation) &&
    (filter.eventId === undefined || letter.eventId === filter.eventId) &&
    (key === undefined || hasKey(letter.key, key)) &&
    (original === undefined || isOf(letter, original)) &&
    (text === undefined || searchedTextOf(letter).includes(text.toLowerCase()))
  )
}

/** Returns the text that a search looks into. */
export function searchedTextOf({ message, key }: Pick<IndexedDeadLetter, 'message' | 'key'>): string {
  return `${message}\n${key ?? ''}`.toLowerCase()
}

function hasKey(key: string | undefined, wanted: string): boolean {
  if (key === undefined) return false
  return wanted.endsWith('*') ? key.startsWith(wanted.slice(0, -1)) : key === wanted
}

function isOf(letter: IndexedDeadLetter, original: NonNullable<DeadLetterFilter['original']>): boolean {
  const { originalTopic, originalPartition, originalOffset } = letter
  return (
    originalTopic === original.topic && originalPartition === original.partition && originalOffset === original.offset
  )
}

/** Compares for a list: the newest first. */
export function compareLetters(one: LetterPlace, other: LetterPlace): number {
  if (one.deadAtMs !== other.deadAtMs) return other.deadAtMs - one.deadAtMs
  if (one.cluster !== other.cluster) return one.cluster < other.cluster ? 1 : -1
  if (one.topic !== other.topic) return one.topic < other.topic ? 1 : -1
  if (one.partition !== other.partition) return other.partition - one.partition
  return one.offset === other.offset ? 0 : one.offset < other.offset ? 1 : -1
}

/** Returns the cursor after a dead letter. */
export function letterCursor({ deadAtMs, cluster, topic, partition, offset }: LetterPlace): string {
  return JSON.stringify([deadAtMs, cluster, topic, partition, String(offset)])
}

/** Reads a cursor of {@link letterCursor}. */
export function readLetterCursor(cursor: string): LetterPlace {
  const [deadAtMs, cluster, topic, partition, offset] = JSON.parse(cursor) as [number, string, string, number, string]
  return { deadAtMs, cluster, topic, partition, offset: BigInt(offset) }
}

/** The position of a failure group in a list: its rank, then its id. */
export interface GroupPlace {
  readonly rank: bigint
  readonly group: string
}

/** Returns the number by which an order sorts a group, the highest first. */
export function rankOf(
  { count, firstAtMs, lastAtMs }: Pick<FailureGroup, 'count' | 'firstAtMs' | 'lastAtMs'>,
  order: FailureGroupOrder,
): bigint {
  if (order === 'COUNT') return count
  return BigInt(order === 'FIRST' ? firstAtMs : lastAtMs)
}

export function compareGroups(one: GroupPlace, other: GroupPlace): number {
  if (one.rank !== other.rank) return one.rank < other.rank ? 1 : -1
  return one.group < other.group ? -1 : one.group === other.group ? 0 : 1
}

export function groupCursor({ rank, group }: GroupPlace): string {
  return JSON.stringify([String(rank), group])
}

/** Reads a cursor of {@link groupCursor}. */
export function readGroupCursor(cursor: string): GroupPlace {
  const [rank, group] = JSON.parse(cursor) as [string, string]
  return { rank: BigInt(rank), group }
}

/** The triage of a group: by an operator, at a time. */
export interface GroupTriage {
  readonly state: FailureGroupState
  readonly note: string | undefined
  readonly by: string
  readonly atMs: number
}

/** Returns the state of a group: a RESOLVED one is OPEN again once it has a newer dead letter. */
export function groupStateOf(triage: GroupTriage | undefined, lastAtMs: number): FailureGroupState {
  if (triage === undefined) return 'OPEN'
  return triage.state === 'RESOLVED' && lastAtMs > triage.atMs ? 'OPEN' : triage.state
}
