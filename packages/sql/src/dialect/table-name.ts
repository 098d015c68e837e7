import { ArgumentError } from '@waybill/core'
import type { SqlDialect } from '../database/sql-database.ts'

/** The name of a table, checked: other than values, names are part of a statement's text. */
export interface TableName {
  /** As it was given, and as it is written into the history of migrations. */
  readonly given: string
  /** As statements name the table. */
  readonly quoted: string
  /** The name of something that belongs to the table and is named in a schema: another table. */
  beside(suffix: string): TableName
  /** The name of an index of the table, quoted. An index lies in its table's schema, so it is named without. */
  index(suffix: string): string
}

/** PostgreSQL cuts names at 63 bytes without a word, and two indexes of a table must not become one. */
const longestName = 48

const part = '[a-zA-Z_][a-zA-Z0-9_]*'
const plainName = new RegExp(`^${part}$`)
const qualifiedName = new RegExp(`^(?:${part}\\.)?${part}$`)

/**
 * Checks and quotes the name of a table (S1-025). On PostgreSQL it may begin with a schema.
 *
 * @throws an ArgumentError for any other text
 */
export function parseTableName(given: string, dialect: SqlDialect): TableName {
  const isQualifiable = dialect === 'postgres'
  if (typeof given !== 'string' || !(isQualifiable ? qualifiedName : plainName).test(given))
    throw new ArgumentError(`${JSON.stringify(given)} cannot be the name of a table.`, {
      hint:
        'Take letters, digits and underscores, with no digit in front' +
        (isQualifiable ? '; a schema may stand before it: billing.outbox_event.' : '.'),
    })
  const [name = '', schema] = given.split('.').toReversed()
  if (name.length > longestName)
    throw new ArgumentError(`The table name ${given} has more than ${longestName} characters.`, {
      hint: 'Take a shorter one: the names of its indexes are made from it, and databases cut those.',
    })
  const quote = quoteWith(dialect)
  return {
    given,
    quoted: schema === undefined ? quote(name) : `${quote(schema)}.${quote(name)}`,
    beside: (suffix) => parseTableName(`${given}${suffix}`, dialect),
    index: (suffix) => quote(`${name}${suffix}`),
  }
}

function quoteWith(dialect: SqlDialect): (name: string) => string {
  const mark = dialect === 'mysql' ? '`' : '"'
  return (name) => `${mark}${name}${mark}`
}
