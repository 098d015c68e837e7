import { ArgumentError } from '@waybill/core'
import type { SqlDialect } from '../database/sql-database.ts'

/** A validated table name: unlike values, names are part of a statement's text. */
export interface TableName {
  /** The name as given, and as recorded in the migration history. */
  readonly given: string
  /** The name as it appears in statements. */
  readonly quoted: string
  /** Returns the name of a related table in the same schema. */
  beside(suffix: string): TableName
  /** Returns the quoted name of an index of the table. An index is in its table's schema, so its name has none. */
  index(suffix: string): string
}

/** PostgreSQL silently truncates names at 63 bytes, and two index names of a table must not collide. */
const longestName = 48

const part = '[a-zA-Z_][a-zA-Z0-9_]*'
const plainName = new RegExp(`^${part}$`)
const qualifiedName = new RegExp(`^(?:${part}\\.)?${part}$`)

/**
 * Validates and quotes a table name. On PostgreSQL it may include a schema.
 *
 * @throws an ArgumentError for any other text
 */
export function parseTableName(given: string, dialect: SqlDialect): TableName {
  const isQualifiable = dialect === 'postgres'
  if (typeof given !== 'string' || !(isQualifiable ? qualifiedName : plainName).test(given))
    throw new ArgumentError(`${JSON.stringify(given)} is not a valid table name.`, {
      hint:
        'Use letters, digits and underscores, without a leading digit' +
        (isQualifiable ? '; a schema may precede it: billing.outbox_event.' : '.'),
    })
  const [name = '', schema] = given.split('.').toReversed()
  if (name.length > longestName)
    throw new ArgumentError(`The table name ${given} has more than ${longestName} characters.`, {
      hint: 'Use a shorter one: index names derive from it, and databases truncate those.',
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
