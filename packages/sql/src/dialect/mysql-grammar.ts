import { Bindings } from './bindings.ts'
import type { Grammar } from './grammar.ts'

/** UTC, because session time zones differ and jump twice a year. */
const now = 'UTC_TIMESTAMP(6)'

/** MySQL 8 and MariaDB 10.6 and later. */
export const mysqlGrammar: Grammar = {
  dialect: 'mysql',
  bindings: () => new Bindings(() => '?'),
  now,
  fromNow: (ms, bindings) => `(${now} + INTERVAL ${bindings.bind(Math.round(ms * 1000))} MICROSECOND)`,
  instant: (epochMs, bindings) =>
    `(TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ${bindings.bind(Math.round(epochMs * 1000))} MICROSECOND)`,
  epochMs: (column) => `TIMESTAMPDIFF(MICROSECOND, '1970-01-01', ${column}) / 1000`,
  msUntil: (column) => `CEILING(TIMESTAMPDIFF(MICROSECOND, ${now}, ${column}) / 1000)`,
  isOneOf: (column, values, bindings) =>
    listOf(
      column,
      values.map((value) => bindings.bind(Number(value))),
    ),
  isOneOfTexts: (column, values, bindings) =>
    listOf(
      column,
      values.map((value) => bindings.bind(value)),
    ),
  joined: (columns) => `CONCAT_WS(' ', ${columns.join(', ')})`,
  fromNowEach: (column, keys, delaysMs, bindings) => {
    const microseconds = delaysMs.map((delayMs) => Math.round(delayMs * 1000))
    return `${now} + INTERVAL ${caseOf(column, keys, microseconds, bindings)} MICROSECOND`
  },
  integerEach: caseOf,
  textEach: caseOf,
  jsonText: (column) => column,
  jsonBytes: (column) => `OCTET_LENGTH(${column})`,
  jsonFrom: (text) => text,
  none: { text: "''", instant: "'1970-01-02'" },
  likely: (condition) => condition,
  limitInOrder: (limit, bindings) => `LIMIT ${bindings.bind(limit)}`,
  // With stale statistics, the usual state of a queue, MariaDB scans all rows of a status instead of those above the
  // floor.
  indexHint: (index) => ` FORCE INDEX (${index})`,
}

function listOf(column: string, placeholders: readonly string[]): string {
  return placeholders.length === 0 ? 'FALSE' : `${column} IN (${placeholders.join(', ')})`
}

function caseOf(
  column: string,
  keys: readonly bigint[],
  values: readonly (string | number)[],
  bindings: Bindings,
): string {
  const branches = keys.map((key, index) => `WHEN ${bindings.bind(Number(key))} THEN ${bindings.bind(values[index])}`)
  return `CASE ${column} ${branches.join(' ')} END`
}
