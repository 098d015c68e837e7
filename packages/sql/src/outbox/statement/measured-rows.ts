/**
 * Reads rows of any size within a limit of bytes, without transferring what exceeds it.
 *
 * The first statement returns every row with its size, and the JSON of those that fit however many there are: up to the
 * limit of bytes divided by the limit of rows. Nearly always that is all of them. Otherwise the rows to take are chosen
 * here, and a second statement loads the JSON of the large ones among them. A window function over the sizes would do it
 * in one statement, but MariaDB writes the rows of a subquery to a temporary table on disk, and every read would pay for
 * the rare large row.
 */

import type { ReadLimits } from '@waybill/outbox/internal'
import type { Bindings } from '../../dialect/bindings.ts'
import type { Grammar } from '../../dialect/grammar.ts'
import { bytesOf, type Column, jsonColumns, plainColumns, type Row, rowBytes, seqOf } from '../row/row-codec.ts'
import type { Render, StoreContext } from '../row/store-context.ts'

/** Returns the size up to which a row's JSON comes with the first statement. */
export function inlineBytes({ limit, maxBytes }: ReadLimits, parts = 1): number {
  return Math.floor(maxBytes / (limit * parts))
}

/** The SELECT lists of a first statement: JSON only of rows up to `most` bytes. */
export interface MeasuredColumns {
  /** The list of the SELECT that finds the rows and has a LIMIT. Bind it before its conditions. */
  readonly inner: (bindings: Bindings) => string
  /** The list of a SELECT around it; undefined if none is needed. */
  readonly outer: ((bindings: Bindings) => string) | undefined
}

/**
 * PostgreSQL converts JSON to text for each measurement, so it measures once, in an inner SELECT whose LIMIT keeps the
 * planner from merging the two. Elsewhere measuring is cheap, and a subquery is not.
 *
 * @param others further columns of the table or expressions, each with its name
 */
export function measuredColumns(grammar: Grammar, most: number, others: readonly Column[] = []): MeasuredColumns {
  const { jsonText } = grammar
  const bytes = rowBytes(grammar)
  const isPostgres = grammar.dialect === 'postgres'
  const ifSmall = (column: string, size: string, bindings: Bindings): string =>
    `CASE WHEN ${size} <= ${bindings.bind(most)}${isPostgres ? '::bigint' : ''} THEN ${jsonText(column)} END AS ${column}`
  const json = (size: string, bindings: Bindings): string =>
    `${ifSmall('payload', size, bindings)}, ${ifSmall('headers', size, bindings)}`
  const plain = [plainColumns, ...others.map(({ name, value }) => `${value} AS ${name}`)].join(', ')
  if (!isPostgres)
    return { inner: (bindings) => `${plain}, ${json(bytes, bindings)}, ${bytes} AS bytes`, outer: undefined }
  const names = [plainColumns, ...others.map(({ name }) => name)].join(', ')
  return {
    inner: () => `${plain}, payload, headers, ${bytes} AS bytes`,
    outer: (bindings) => `${names}, ${json('bytes', bindings)}, bytes`,
  }
}

/** Returns `SELECT … FROM (rows) AS page` if the columns need it. */
export function aroundPage({ outer }: MeasuredColumns, rows: string, bindings: Bindings): string {
  return outer === undefined ? rows : `SELECT ${outer(bindings)} FROM (${rows}) AS page`
}

/** Loads the JSON of rows by primary key. */
export function loadJson({ grammar, tables }: StoreContext, rows: readonly Row[]): Render {
  const seqs = rows.map(seqOf)
  return (bindings) =>
    `SELECT seq, event_id, ${jsonColumns(grammar)} FROM ${tables.event.quoted} WHERE ${grammar.isOneOf('seq', seqs, bindings)}`
}

/** Completes rows with their loaded JSON. A row that is no longer there is marked as gone. */
export function withJson(rows: readonly Row[], most: number, loaded: readonly Row[]): Row[] {
  const bySeq = new Map(loaded.map((row) => [seqOf(row), row]))
  return rows.map((row) => {
    if (bytesOf(row) <= most) return row
    const json = bySeq.get(seqOf(row))
    if (json === undefined || json['event_id'] !== row['event_id']) return { ...row, is_gone: true }
    return { ...row, payload: json['payload'], headers: json['headers'] }
  })
}

/** Takes rows in order up to the one that reaches the limit of bytes. */
export function takeWithin(rows: readonly Row[], maxBytes: number): Row[] {
  const taken: Row[] = []
  let bytes = 0
  for (const row of rows) {
    if (bytes >= maxBytes) break
    taken.push(row)
    bytes += bytesOf(row)
  }
  return taken
}

/** Orders rows so that groups take turns: the first row of each group, then the second of each. */
export function inTurns(groups: readonly (readonly Row[])[]): Row[] {
  const longest = groups.reduce((length, group) => Math.max(length, group.length), 0)
  const turns: Row[] = []
  for (let at = 0; at < longest; at++)
    for (const group of groups) {
      const row = group[at]
      if (row !== undefined) turns.push(row)
    }
  return turns
}
