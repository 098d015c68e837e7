import type { SqlDialect } from '../database/sql-database.ts'
import { parseTableName } from '../dialect/table-name.ts'

/** The quoted names of the tables of the dead letter index. */
export interface LetterTables {
  readonly letter: string
  /** The number of dead letters with the same values, by the hour in which they died. */
  readonly count: string
  readonly position: string
  readonly group: string
  /** The quoted name of an index of `letter` or `count`. */
  readonly index: (table: 'letter' | 'count', suffix: string) => string
}

/** @throws an ArgumentError for an invalid table name */
export function letterTables(base: string, dialect: SqlDialect): LetterTables {
  const name = parseTableName(base, dialect)
  const letter = name.beside('_dead_letter')
  const count = name.beside('_dead_letter_count')
  return {
    letter: letter.quoted,
    count: count.quoted,
    position: name.beside('_dead_letter_position').quoted,
    group: name.beside('_failure_group').quoted,
    index: (table, suffix) => (table === 'letter' ? letter : count).index(suffix),
  }
}
