import { Bindings } from './bindings.ts'
import type { Grammar } from './grammar.ts'

/** Times are integers of epoch milliseconds: SQLite has no time type, and its clock has no finer unit. */
const now = "CAST(round(unixepoch('subsec') * 1000) AS INTEGER)"

/** SQLite 3.42 and later, as bundled with node:sqlite. */
export const sqliteGrammar: Grammar = {
  dialect: 'sqlite',
  bindings: () => new Bindings(() => '?'),
  now,
  fromNow: (ms, bindings) => `(${now} + ${bindings.bind(Math.round(ms))})`,
  instant: (epochMs, bindings) => bindings.bind(epochMs),
  epochMs: (column) => column,
  msUntil: (column) => `(${column} - ${now})`,
  isOneOf: (column, values, bindings) => isIn(column, values.map(Number), bindings),
  isOneOfTexts: (column, values, bindings) => isIn(column, values, bindings),
  joined: (columns) => columns.join(" || ' ' || "),
  fromNowEach: (column, keys, delaysMs, bindings) =>
    `${now} + ${memberFor(column, keys, delaysMs.map(Math.round), bindings)}`,
  integerEach: memberFor,
  textEach: memberFor,
  jsonText: (column) => column,
  jsonBytes: (column) => `length(CAST(${column} AS BLOB))`,
  jsonFrom: (text) => text,
  none: { text: 'NULL', instant: 'NULL' },
  likely: (condition) => condition,
  limitInOrder: (limit, bindings) => `LIMIT ${bindings.bind(limit)}`,
  // An unusable index is then an error instead of an unnoticed table scan.
  indexHint: (index) => ` INDEXED BY ${index}`,
}

/** One placeholder for any number of values: the text stays the same, so its prepared statement can be cached. */
function isIn(column: string, values: readonly (number | string)[], bindings: Bindings): string {
  return `${column} IN (SELECT value FROM json_each(${bindings.bind(JSON.stringify(values))}))`
}

function memberFor(
  column: string,
  keys: readonly bigint[],
  values: readonly (string | number)[],
  bindings: Bindings,
): string {
  const members = Object.fromEntries(keys.map((key, index) => [String(key), values[index]]))
  return `(${bindings.bind(JSON.stringify(members))} ->> ('$."' || ${column} || '"'))`
}
