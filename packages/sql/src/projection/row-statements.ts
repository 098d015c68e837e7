import type { BuildTable, StoredRow } from '@waybill/core/internal'
import type { SqlDialect } from '../database/sql-database.ts'
import { Bindings } from '../dialect/bindings.ts'
import { arrayOf } from '../dialect/postgres-array.ts'
import { type ColumnCodec, columnCodec } from './column-codec.ts'
import type { ProjectionTables } from './projection-tables.ts'

/** A statement and its values. */
export interface RowStatement {
  readonly text: string
  readonly values: readonly unknown[]
}

/**
 * The statuses of a row: bits. A row without a state is kept, because its version recognizes repeats; the view leaves it out.
 */
export const rowStatus = { present: 0, absent: 1, quarantined: 2 } as const

/** A column of the table of a build: the key, the version, the status, then those of the state. */
interface RowColumn {
  readonly name: string
  readonly codec: ColumnCodec
  readonly of: (row: StoredRow) => string | number | bigint | null
}

/** The placeholders of one statement. MySQL and its drivers stop at 65,535. */
const mostPlaceholders = 30_000

/** The statements on the table of one build. */
export class RowStatements {
  readonly #dialect: SqlDialect
  readonly #table: BuildTable
  readonly #rows: string
  readonly #columns: readonly RowColumn[]
  readonly #quote: (name: string) => string

  constructor(tables: ProjectionTables, table: BuildTable, dialect: SqlDialect) {
    this.#dialect = dialect
    this.#table = table
    this.#rows = tables.rows(table.projection, table.number)
    this.#quote = dialect === 'mysql' ? (name) => `\`${name}\`` : (name) => `"${name}"`
    const own: readonly [string, 'text' | 'integer', RowColumn['of']][] = [
      [table.keyColumn, 'text', ({ key }) => key],
      ['version', 'integer', ({ version }) => version],
      ['row_status', 'integer', statusOf],
    ]
    this.#columns = [
      ...own.map(([name, type, of]) => ({ name, codec: columnCodec(type, dialect), of })),
      ...Object.entries(table.columns).map(([name, { type }]) => {
        const codec = columnCodec(type, dialect)
        return { name, codec, of: ({ state }: StoredRow) => codec.encode(state?.[name]) }
      }),
    ]
  }

  /** Selects the rows of these keys; locked in the order of their keys if asked. */
  select(keys: readonly string[], isLocked: boolean): RowStatement {
    const bindings = this.#bindings()
    const where = `${this.#key} ${this.#isOneOf(keys, bindings)}`
    const lock = isLocked ? ` ORDER BY ${this.#key}${this.#dialect === 'sqlite' ? '' : ' FOR UPDATE'}` : ''
    return { text: `SELECT ${this.#selected()} FROM ${this.#rows} WHERE ${where}${lock}`, values: bindings.values }
  }

  /** Selects rows in the order of their keys, behind one and up to another. */
  scan(after: string | null, limit: number, last?: string): RowStatement {
    const bindings = this.#bindings()
    const bounds = [
      ...(after === null ? [] : [`${this.#key} > ${bindings.bind(after)}`]),
      ...(last === undefined ? [] : [`${this.#key} <= ${bindings.bind(last)}`]),
    ]
    const where = bounds.length === 0 ? '' : ` WHERE ${bounds.join(' AND ')}`
    const text = `SELECT ${this.#selected()} FROM ${this.#rows}${where} ORDER BY ${this.#key} LIMIT ${limit}`
    return { text, values: bindings.values }
  }

  /**
   * Inserts rows, or updates those that have a lower version; quarantined ones stay so. One statement, or several for very
   * many placeholders. Rows are written in the given order, so that two writers do not deadlock.
   */
  upsert(rows: readonly StoredRow[]): readonly RowStatement[] {
    if (this.#dialect === 'postgres') return [this.#upsertByArrays(rows)]
    if (this.#dialect === 'sqlite') return [this.#upsertByJson(rows)]
    const most = Math.max(1, Math.floor(mostPlaceholders / this.#columns.length))
    return Array.from({ length: Math.ceil(rows.length / most) }, (_, part) =>
      this.#upsertByValues(rows.slice(part * most, (part + 1) * most)),
    )
  }

  /** Replaces a row whatever it has. */
  replace(row: StoredRow): readonly RowStatement[] {
    const bindings = this.#bindings()
    const key = this.#columns[0]
    const sets = this.#columns.slice(1).map(({ name, codec, of }) => {
      const value = bindings.bind(of(row))
      const typed = this.#dialect === 'postgres' ? `${value}::${codec.sent}` : value
      return `${this.#quote(name)} = ${codec.write(typed)}`
    })
    const where = `${this.#key} = ${bindings.bind(key?.of(row))}`
    return [
      { text: `UPDATE ${this.#rows} SET ${sets.join(', ')} WHERE ${where}`, values: bindings.values },
      // For a key without a row, the update changed nothing.
      ...this.upsert([row]),
    ]
  }

  /** Marks a row as quarantined if it has this version and is not. */
  quarantine(key: string, version: number): RowStatement {
    const bindings = this.#bindings()
    const status = this.#quote('row_status')
    const where = `${this.#key} = ${bindings.bind(key)} AND version = ${bindings.bind(version)} AND ${status} < 2`
    return { text: `UPDATE ${this.#rows} SET ${status} = ${status} + 2 WHERE ${where}`, values: bindings.values }
  }

  /** Inserts a row that only says that its key is quarantined, unless the key has a row. */
  quarantineAbsent(key: string): RowStatement {
    const bindings = this.#bindings()
    const insert = this.#dialect === 'mysql' ? 'INSERT IGNORE' : 'INSERT'
    const end = this.#dialect === 'mysql' ? '' : ' ON CONFLICT DO NOTHING'
    const into = `${insert} INTO ${this.#rows} (${this.#key}, version, ${this.#quote('row_status')})`
    const status = rowStatus.absent + rowStatus.quarantined
    return { text: `${into} VALUES (${bindings.bind(key)}, 0, ${status})${end}`, values: bindings.values }
  }

  row(found: Readonly<Record<string, unknown>>): StoredRow {
    const status = Number(found['row_status'])
    const isAbsent = status % 2 === rowStatus.absent
    return {
      key: String(found[this.#table.keyColumn]),
      version: Number(found['version']),
      state: isAbsent ? undefined : this.#state(found),
      isQuarantined: status >= rowStatus.quarantined,
    }
  }

  create(tables: ProjectionTables): readonly string[] {
    const { projection, number, columns } = this.#table
    const key = {
      postgres: 'varchar(255) COLLATE "C"',
      mysql: 'varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin',
      sqlite: 'TEXT',
    }
    const integer = this.#dialect === 'sqlite' ? 'INTEGER' : 'bigint'
    const lines = [
      `${this.#key} ${key[this.#dialect]} NOT NULL PRIMARY KEY`,
      `version ${integer} NOT NULL`,
      `${this.#quote('row_status')} ${this.#dialect === 'sqlite' ? 'INTEGER' : 'smallint'} NOT NULL`,
      ...Object.entries(columns).map(
        ([name, { type, isIndexed }]) =>
          `${this.#quote(name)} ${columnCodec(type, this.#dialect).type(isIndexed === true)}`,
      ),
    ]
    const indexed = Object.entries(columns).filter(([, { isIndexed }]) => isIndexed)
    const indexes = indexed.map(
      ([name], place) => [tables.index(projection, number, name, place), this.#quote(name)] as const,
    )
    // MySQL creates no index "if it does not exist", so its indexes are part of the table.
    if (this.#dialect === 'mysql') {
      const keys = indexes.map(([index, column]) => `KEY ${index} (${column})`)
      return [`CREATE TABLE IF NOT EXISTS ${this.#rows} (\n  ${[...lines, ...keys].join(',\n  ')}\n) ENGINE = InnoDB`]
    }
    // Half of what updates touch stays on its page.
    const storage = this.#dialect === 'postgres' ? ' WITH (fillfactor = 80)' : ''
    return [
      `CREATE TABLE IF NOT EXISTS ${this.#rows} (\n  ${lines.join(',\n  ')}\n)${storage}`,
      ...indexes.map(([index, column]) => `CREATE INDEX IF NOT EXISTS ${index} ON ${this.#rows} (${column})`),
    ]
  }

  /** The body of the view. */
  view(): string {
    const names = [this.#key, ...Object.keys(this.#table.columns).map(this.#quote), 'version']
    return `SELECT ${names.join(', ')} FROM ${this.#rows} WHERE ${this.#quote('row_status')} IN (0, 2)`
  }

  get #key(): string {
    return this.#quote(this.#table.keyColumn)
  }

  #bindings(): Bindings {
    return new Bindings(this.#dialect === 'postgres' ? (position) => `$${position}` : () => '?')
  }

  #selected(): string {
    return this.#columns.map(({ name, codec }) => `${codec.read(this.#quote(name))} AS ${this.#quote(name)}`).join(', ')
  }

  #isOneOf(keys: readonly string[], bindings: Bindings): string {
    switch (this.#dialect) {
      case 'postgres':
        return `= ANY(${bindings.bind(arrayOf(keys))}::varchar[])`
      case 'mysql':
        return `IN (${keys.map((key) => bindings.bind(key)).join(', ')})`
      case 'sqlite':
        return `IN (SELECT value FROM json_each(${bindings.bind(JSON.stringify(keys))}))`
    }
  }

  #state(found: Readonly<Record<string, unknown>>): Record<string, unknown> {
    return Object.fromEntries(this.#columns.slice(3).map(({ name, codec }) => [name, codec.decode(found[name])]))
  }

  #names(): string {
    return this.#columns.map(({ name }) => this.#quote(name)).join(', ')
  }

  #upsertByArrays(rows: readonly StoredRow[]): RowStatement {
    const bindings = this.#bindings()
    const arrays = this.#columns.map(({ codec, of }) => `${bindings.bind(arrayOf(rows.map(of)))}::${codec.sent}[]`)
    const values = this.#columns.map(({ codec }, index) => codec.write(`u.c${index}`))
    const aliases = this.#columns.map((_, index) => `c${index}`)
    const from = `unnest(${arrays.join(', ')}) AS u (${aliases.join(', ')})`
    const text = `INSERT INTO ${this.#rows} AS r (${this.#names()}) SELECT ${values.join(', ')} FROM ${from}${this.#onConflict('r')}`
    return { text, values: bindings.values }
  }

  #upsertByJson(rows: readonly StoredRow[]): RowStatement {
    const lists = rows.map((row) => this.#columns.map(({ of }) => of(row)))
    const values = this.#columns.map(({ codec }, index) => codec.write(`(j.value ->> ${index})`))
    // Without WHERE, SQLite takes ON CONFLICT for the condition of a join.
    const from = `json_each(?) AS j WHERE true`
    const text = `INSERT INTO ${this.#rows} AS r (${this.#names()}) SELECT ${values.join(', ')} FROM ${from}${this.#onConflict('r')}`
    return { text, values: [JSON.stringify(lists)] }
  }

  #upsertByValues(rows: readonly StoredRow[]): RowStatement {
    const bindings = this.#bindings()
    const lists = rows.map(
      (row) => `(${this.#columns.map(({ codec, of }) => codec.write(bindings.bind(of(row)))).join(', ')})`,
    )
    // Assignments run from left to right: the condition reads the version, so it comes last.
    const inOrder = [...this.#columns.slice(3).map(({ name }) => name), 'row_status', 'version']
    const sets = inOrder.map((name) => {
      const value = name === 'row_status' ? 'VALUES(`row_status`) | (`row_status` & 2)' : `VALUES(\`${name}\`)`
      return `\`${name}\` = IF(\`version\` < VALUES(\`version\`), ${value}, \`${name}\`)`
    })
    const text = `INSERT INTO ${this.#rows} (${this.#names()}) VALUES ${lists.join(', ')} ON DUPLICATE KEY UPDATE ${sets.join(', ')}`
    return { text, values: bindings.values }
  }

  #onConflict(row: string): string {
    const sets = this.#columns.slice(1).map(({ name }) => {
      const kept = name === 'row_status' ? ` | (${row}.row_status & 2)` : ''
      return `${this.#quote(name)} = excluded.${this.#quote(name)}${kept}`
    })
    return ` ON CONFLICT (${this.#key}) DO UPDATE SET ${sets.join(', ')} WHERE ${row}.version < excluded.version`
  }
}

function statusOf({ state, isQuarantined }: StoredRow): number {
  return (state === undefined ? rowStatus.absent : rowStatus.present) + (isQuarantined ? rowStatus.quarantined : 0)
}
