import type { ColumnType } from '@waybill/core/internal'
import type { SqlDialect } from '../database/sql-database.ts'

/** Converts the values of a column for drivers, which agree only on text and small integers. */
export interface ColumnCodec {
  /** The type of the column in the table; `isIndexed` bounds the length of a text. */
  readonly type: (isIndexed: boolean) => string
  /** The parameter type on PostgreSQL, which receives arrays. */
  readonly sent: string
  /** Returns the expression that converts a sent value to that of the column. */
  readonly write: (sent: string) => string
  /** Returns the expression that reads the column. */
  readonly read: (column: string) => string
  readonly encode: (value: unknown) => string | number | bigint | null
  readonly decode: (value: unknown) => unknown
}

/** Returns the codec of a column type. Null is null in every column. */
export function columnCodec(type: ColumnType, dialect: SqlDialect): ColumnCodec {
  const codec = codecs[dialect][type]
  return {
    ...codec,
    encode: (value) => (value === null || value === undefined ? null : codec.encode(value)),
    decode: (value) => (value === null || value === undefined ? null : codec.decode(value)),
  }
}

const same = (one: string): string => one
const asIs = (value: unknown): string => String(value)
const json = { encode: (value: unknown) => JSON.stringify(value), decode: (value: unknown): unknown => parsed(value) }
const bytes = {
  encode: (value: unknown) => Buffer.from(value as Uint8Array).toString('hex'),
  decode: (value: unknown) => Buffer.from(String(value), 'hex'),
}
const flag = { encode: (value: unknown) => Number(value), decode: (value: unknown) => Number(value) === 1 }
const integer = {
  encode: (value: unknown) => String(value),
  decode: (value: unknown): number | bigint => {
    const large = BigInt(String(value))
    const small = Number(large)
    return Number.isSafeInteger(small) ? small : large
  },
}
const text = { encode: asIs, decode: asIs }
const decimal = { encode: asIs, decode: (value: unknown) => canonicalDecimal(String(value)) }
const timestamp = { encode: (value: unknown) => Number(value), decode: (value: unknown) => Number(value) }

/** Some libraries parse JSON before it can be read as text. */
function parsed(value: unknown): unknown {
  return typeof value === 'string' ? JSON.parse(value) : value
}

/** Removes zeros that databases add or keep, so that a state does not depend on the one it was stored in. */
function canonicalDecimal(value: string): string {
  const plain = value.includes('.') ? value.replace(/\.?0+$/, '') : value
  return plain === '-0' ? '0' : plain
}

type Codecs = Readonly<Record<ColumnType, ColumnCodec>>

const postgres: Codecs = {
  text: { type: () => 'text', sent: 'text', write: same, read: same, ...text },
  integer: { type: () => 'bigint', sent: 'bigint', write: same, read: (c) => `${c}::text`, ...integer },
  decimal: { type: () => 'numeric', sent: 'numeric', write: same, read: (c) => `${c}::text`, ...decimal },
  boolean: { type: () => 'boolean', sent: 'integer', write: (s) => `${s} = 1`, read: (c) => `${c}::integer`, ...flag },
  timestamp: {
    type: () => 'timestamptz',
    sent: 'bigint',
    write: (s) => `timestamptz 'epoch' + ${s} * interval '1 millisecond'`,
    read: (c) => `round(extract(epoch FROM ${c}) * 1000)::bigint::text`,
    ...timestamp,
  },
  json: { type: () => 'jsonb', sent: 'text', write: (s) => `${s}::jsonb`, read: (c) => `${c}::text`, ...json },
  bytes: {
    type: () => 'bytea',
    sent: 'text',
    write: (s) => `decode(${s}, 'hex')`,
    read: (c) => `encode(${c}, 'hex')`,
    ...bytes,
  },
}

const utf8 = 'CHARACTER SET utf8mb4 COLLATE utf8mb4_bin'

const mysql: Codecs = {
  text: {
    type: (isIndexed) => `${isIndexed ? 'varchar(255)' : 'longtext'} ${utf8}`,
    sent: '',
    write: same,
    read: same,
    ...text,
  },
  integer: { type: () => 'bigint', sent: '', write: same, read: (c) => `CAST(${c} AS CHAR)`, ...integer },
  decimal: { type: () => 'decimal(65, 20)', sent: '', write: same, read: (c) => `CAST(${c} AS CHAR)`, ...decimal },
  boolean: { type: () => 'boolean', sent: '', write: same, read: same, ...flag },
  timestamp: {
    type: () => 'datetime(3)',
    sent: '',
    write: (s) => `TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ${s} * 1000 MICROSECOND`,
    read: (c) => `CAST(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', ${c}) DIV 1000 AS CHAR)`,
    ...timestamp,
  },
  // MySQL's own type would reorder keys, and MariaDB has none.
  json: { type: () => `longtext ${utf8}`, sent: '', write: same, read: same, ...json },
  bytes: { type: () => 'longblob', sent: '', write: (s) => `UNHEX(${s})`, read: (c) => `LOWER(HEX(${c}))`, ...bytes },
}

const sqlite: Codecs = {
  text: { type: () => 'TEXT', sent: '', write: same, read: same, ...text },
  integer: {
    type: () => 'INTEGER',
    sent: '',
    write: (s) => `CAST(${s} AS INTEGER)`,
    read: (c) => `CAST(${c} AS TEXT)`,
    ...integer,
  },
  decimal: { type: () => 'TEXT', sent: '', write: same, read: same, ...decimal },
  boolean: { type: () => 'INTEGER', sent: '', write: same, read: same, ...flag },
  timestamp: { type: () => 'INTEGER', sent: '', write: same, read: same, ...timestamp },
  json: { type: () => 'TEXT', sent: '', write: same, read: same, ...json },
  bytes: {
    type: () => 'BLOB',
    sent: '',
    write: (s) => `unhex(${s})`,
    read: (c) => `CASE WHEN ${c} IS NOT NULL THEN lower(hex(${c})) END`,
    ...bytes,
  },
}

const codecs: Readonly<Record<SqlDialect, Codecs>> = { postgres, mysql, sqlite }
