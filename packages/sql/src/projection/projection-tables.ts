import type { SqlDialect } from '../database/sql-database.ts'
import { parseTableName } from '../dialect/table-name.ts'

/** The default name from which the bookkeeping tables of projections derive. */
export const defaultProjectionTable = 'projection'

/** The quoted names of the bookkeeping tables, and of the tables of builds beside them. */
export interface ProjectionTables {
  /** One row for each projection; its lock allows changes of builds. */
  readonly control: string
  readonly build: string
  readonly position: string
  readonly quarantine: string
  /** The view of a projection. */
  readonly view: (projection: string) => string
  /** The table of a build. */
  readonly rows: (projection: string, number: number) => string
  /** The index of a column of the table of a build; the place tells columns with the same first letters apart. */
  readonly index: (projection: string, number: number, column: string, place: number) => string
}

/** @throws an ArgumentError for an invalid table name */
export function projectionTables(base: string, dialect: SqlDialect): ProjectionTables {
  const name = parseTableName(base, dialect)
  const [, schema] = base.split('.').toReversed()
  const beside = (other: string) => parseTableName(schema === undefined ? other : `${schema}.${other}`, dialect)
  return {
    control: name.quoted,
    build: name.beside('_build').quoted,
    position: name.beside('_position').quoted,
    quarantine: name.beside('_quarantine').quoted,
    view: (projection) => beside(projection).quoted,
    rows: (projection, number) => beside(`${projection}_b${number}`).quoted,
    index: (projection, number, column, place) =>
      beside(`${projection}_b${number}`).index(`_${place}_${column}`.slice(0, 15)),
  }
}
