import type { SqlDialect } from '../database/sql-database.ts'
import { parseTableName } from '../dialect/table-name.ts'

/** The default name from which the tables of operators derive. */
export const defaultAdminTable = 'waybill'

/** The quoted names of the tables of operators. */
export interface AdminTables {
  readonly operation: string
  readonly item: string
  readonly tally: string
  readonly audit: string
  /** The quoted name of an index of one of the tables. */
  readonly index: (table: 'operation' | 'audit', suffix: string) => string
}

/** @throws an ArgumentError for an invalid table name */
export function adminTables(base: string, dialect: SqlDialect): AdminTables {
  const name = parseTableName(base, dialect)
  return {
    operation: name.beside('_operation').quoted,
    item: name.beside('_operation_item').quoted,
    tally: name.beside('_operation_tally').quoted,
    audit: name.beside('_audit').quoted,
    index: (table, suffix) => name.beside(`_${table}`).index(suffix),
  }
}
