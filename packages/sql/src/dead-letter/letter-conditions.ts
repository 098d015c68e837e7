/** The conditions of filters, for rows of dead letters and for their counts by hour. */

import type { DeadLetterFilter, DeadLetterRef } from '@waybill/core/internal'
import type { SqlDialect } from '../database/sql-database.ts'
import type { Bindings } from '../dialect/bindings.ts'
import { inList } from '../operation/admin-statement.ts'
import type { LetterTables } from './letter-tables.ts'

const hourMs = 3_600_000

/** Returns the hour in which an instant lies. */
export function hourOf(atMs: number): number {
  return Math.floor(atMs / hourMs)
}

/** The columns that rows and counts share. */
const shared = 'cluster, topic, binding, group_id, event_type, exception, reason, state'

/** Returns the conditions that counts can answer: all but those about the time. */
function sharedConditions(filter: DeadLetterFilter, b: Bindings): string[] {
  const equal = (column: string, value: string | undefined): string[] =>
    value === undefined ? [] : [`${column} = ${b.bind(value)}`]
  return [
    ...equal('cluster', filter.cluster),
    ...equal('topic', filter.topic),
    ...equal('binding', filter.binding),
    ...(filter.bindings === undefined ? [] : [inList('binding', filter.bindings, b)]),
    ...equal('group_id', filter.group),
    ...equal('event_type', filter.eventType),
    ...equal('exception', filter.exception),
    ...equal('reason', filter.reason),
    ...(filter.states === undefined ? [] : [inList('state', filter.states, b)]),
  ]
}

/** Returns the conditions that need the rows, without those about the time. */
function ownConditions(filter: DeadLetterFilter, b: Bindings): string[] {
  const { minAttempts, replayCount, traceId, operation, eventId, key, original, text } = filter
  return [
    ...(minAttempts === undefined ? [] : [`attempts >= ${b.bind(minAttempts)}`]),
    ...(replayCount === undefined ? [] : [`replay_count = ${b.bind(replayCount)}`]),
    ...(traceId === undefined ? [] : [`trace_id = ${b.bind(traceId)}`]),
    ...(operation === undefined ? [] : [`operation = ${b.bind(operation)}`]),
    ...(eventId === undefined ? [] : [`event_id = ${b.bind(eventId)}`]),
    ...(key === undefined ? [] : [keyCondition(key, b)]),
    ...(original === undefined
      ? []
      : [
          `original_topic = ${b.bind(original.topic)} AND original_part = ${b.bind(original.partition)} ` +
            `AND original_offset = ${b.bind(original.offset)}`,
        ]),
    ...(text === undefined ? [] : [`searched LIKE ${b.bind(`%${escaped(text.toLowerCase())}%`)} ESCAPE '!'`]),
  ]
}

function timeConditions({ sinceMs, untilMs }: Pick<DeadLetterFilter, 'sinceMs' | 'untilMs'>, b: Bindings): string[] {
  return [
    ...(sinceMs === undefined ? [] : [`dead_at >= ${b.bind(sinceMs)}`]),
    ...(untilMs === undefined ? [] : [`dead_at < ${b.bind(untilMs)}`]),
  ]
}

/** Returns the condition that selects the rows of a filter. */
export function rowsOf(filter: DeadLetterFilter, b: Bindings): string {
  const conditions = [...sharedConditions(filter, b), ...ownConditions(filter, b), ...timeConditions(filter, b)]
  return conditions.length === 0 ? '1 = 1' : conditions.join(' AND ')
}

/** Returns whether counts by hour can answer a filter. */
export function isCounted(filter: DeadLetterFilter): boolean {
  const { minAttempts, replayCount, traceId, operation, eventId, key, original, text } = filter
  return [minAttempts, replayCount, traceId, operation, eventId, key, original, text].every((one) => one === undefined)
}

/**
 * Returns a table of numbers `n` of dead letters with the same values, first and last death: counts of whole hours, and rows
 * for the beginnings and ends of hours. Only filters that counts cannot answer read all their rows.
 */
export function countsOf({ letter, count }: LetterTables, filter: DeadLetterFilter, b: Bindings): string {
  const rows = (window: DeadLetterFilter): string =>
    `SELECT ${shared}, 1 AS n, dead_at AS first_at, dead_at AS last_at FROM ${letter} WHERE ${rowsOf({ ...filter, ...window }, b)}`
  const { sinceMs, untilMs } = filter
  const fromHour = sinceMs === undefined ? undefined : Math.ceil(sinceMs / hourMs)
  const untilHour = untilMs === undefined ? undefined : hourOf(untilMs)
  const isWithinHour = fromHour !== undefined && untilHour !== undefined && fromHour >= untilHour
  if (!isCounted(filter) || isWithinHour) return `(${rows({})})`
  const conditions = sharedConditions(filter, b)
  if (fromHour !== undefined) conditions.push(`died_hour >= ${b.bind(fromHour)}`)
  if (untilHour !== undefined) conditions.push(`died_hour < ${b.bind(untilHour)}`)
  const where = conditions.length === 0 ? '' : ` WHERE ${conditions.join(' AND ')}`
  const parts = [`SELECT ${shared}, n, first_at, last_at FROM ${count}${where}`]
  if (fromHour !== undefined && fromHour * hourMs !== sinceMs) parts.push(rows({ untilMs: fromHour * hourMs }))
  if (untilHour !== undefined && untilHour * hourMs !== untilMs) parts.push(rows({ sinceMs: untilHour * hourMs }))
  return `(${parts.join(' UNION ALL ')})`
}

/** Returns the condition that selects these dead letters. */
export function isOneOfRefs(refs: readonly DeadLetterRef[], b: Bindings): string {
  const partitions = Map.groupBy(refs, ({ cluster, topic, partition }) => JSON.stringify([cluster, topic, partition]))
  const conditions = Array.from(partitions.values(), (all) => {
    const [{ cluster, topic, partition }] = all as [DeadLetterRef]
    const place = `cluster = ${b.bind(cluster)} AND topic = ${b.bind(topic)} AND part = ${b.bind(partition)}`
    return `(${place} AND record_offset IN (${all.map(({ offset }) => b.bind(offset)).join(', ')}))`
  })
  return conditions.length === 0 ? '1 = 0' : `(${conditions.join(' OR ')})`
}

/** Returns the condition of the rows after a place in the order of a list. */
export function isAfter(place: DeadLetterRef & { readonly deadAtMs: number }, b: Bindings): string {
  const { deadAtMs, cluster, topic, partition, offset } = place
  const same = [
    ['cluster', cluster],
    ['topic', topic],
    ['part', partition],
    ['record_offset', offset],
  ] as const
  const before = `dead_at <= ${b.bind(deadAtMs)} AND (dead_at < ${b.bind(deadAtMs)}`
  const tied = same.map(([column, value], at) => {
    const equal = same.slice(0, at).map(([name, known]) => `${name} = ${b.bind(known)} AND `)
    return `(${equal.join('')}${column} < ${b.bind(value)})`
  })
  return `${before} OR ${tied.join(' OR ')})`
}

/** The order of a list: the newest first. */
export const listOrder = 'dead_at DESC, cluster DESC, topic DESC, part DESC, record_offset DESC'

/** A comparison with the end of the prefix is served by an index on every database; LIKE is not. */
function keyCondition(key: string, b: Bindings): string {
  if (!key.endsWith('*')) return `record_key = ${b.bind(key)}`
  const prefix = key.slice(0, -1)
  return `record_key >= ${b.bind(prefix)} AND record_key < ${b.bind(`${prefix}\u{10ffff}`)}`
}

function escaped(text: string): string {
  return text.replace(/[!%_]/g, '!$&')
}

/** Returns the suffix that locks the rows of a statement. SQLite locks the file. */
export function lockingRows(dialect: SqlDialect): string {
  return dialect === 'sqlite' ? '' : ' FOR UPDATE'
}
