import { describeThrown, StateError } from '@waybill/core'
import type { ColumnDefinition, StoredRow } from '@waybill/core/internal'

type State = NonNullable<StoredRow['state']>

type Columns = Readonly<Record<string, Required<ColumnDefinition>>>

/** Copies a state for a fold: one that changes what it was given and then throws must not change the row. */
export function copyOf(columns: Columns, state: State): State {
  const copy = { ...state }
  for (const [name, { type }] of Object.entries(columns)) {
    const value = copy[name]
    if (type === 'json') copy[name] = structuredClone(value)
    else if (value instanceof Uint8Array) copy[name] = Buffer.from(value)
  }
  return copy
}

/**
 * Returns a state as every database keeps it: its columns alone, decimals without superfluous zeros, JSON as JSON has it. So
 * a fold sees the same state whether its row was just computed or read.
 *
 * @throws StateError for a value that its column cannot hold. A database would refuse the whole batch for it, again and
 * again.
 */
export function storableState(columns: Columns, state: State): State {
  const stored: Record<string, unknown> = {}
  for (const [name, column] of Object.entries(columns)) {
    const value = state[name]
    stored[name] = value === null ? null : storable(name, column, value)
  }
  return stored
}

/** The values that a column can hold, for errors. */
const expected = {
  text: 'well-formed text without NUL',
  integer: 'a safe integer, or a bigint of 64 bits',
  decimal: 'a decimal as text, with at most 45 digits before and 20 after the point',
  boolean: 'true or false',
  timestamp: 'whole milliseconds since 1970, before the year 10000',
  json: 'a value that JSON can represent',
  bytes: 'a Buffer or Uint8Array',
} as const

const longestIndexed = 255
const latestMs = 253_402_300_799_999
const earliestMs = -62_135_596_800_000
const int64 = { min: -(2n ** 63n), max: 2n ** 63n - 1n }
const decimalText = /^-?(\d{1,45})(?:\.(\d{1,20}))?$/

function storable(name: string, column: Required<ColumnDefinition>, value: unknown): unknown {
  switch (column.type) {
    case 'text':
      if (!isText(value)) throw refused(name, 'text', value)
      if (column.isIndexed && value.length > longestIndexed)
        throw new StateError(
          `${name} has ${value.length} characters, and an indexed text has at most ${longestIndexed}`,
        )
      return value
    case 'integer':
      if (Number.isSafeInteger(value)) return value
      if (typeof value === 'bigint' && value >= int64.min && value <= int64.max)
        return Number.isSafeInteger(Number(value)) ? Number(value) : value
      throw refused(name, 'integer', value)
    case 'decimal':
      if (typeof value !== 'string' || !decimalText.test(value)) throw refused(name, 'decimal', value)
      return canonicalDecimal(value)
    case 'boolean':
      if (typeof value !== 'boolean') throw refused(name, 'boolean', value)
      return value
    case 'timestamp':
      if (!Number.isSafeInteger(value) || (value as number) > latestMs || (value as number) < earliestMs)
        throw refused(name, 'timestamp', value)
      return value
    case 'json':
      return storableJson(name, value)
    case 'bytes':
      if (!(value instanceof Uint8Array)) throw refused(name, 'bytes', value)
      return value
  }
}

/** Returns a decimal without superfluous zeros. */
function canonicalDecimal(value: string): string {
  const integral = value.replace(/^(-?)0+(?=\d)/, '$1')
  const plain = integral.includes('.') ? integral.replace(/\.?0+$/, '') : integral
  return plain === '-0' ? '0' : plain
}

function storableJson(name: string, value: unknown): unknown {
  const json = JSON.stringify(value)
  if (json === undefined || json.includes('\\u0000') || !json.isWellFormed() || /\\ud[89a-f]/i.test(json))
    throw refused(name, 'json', value)
  return JSON.parse(json)
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && !value.includes('\0') && value.isWellFormed()
}

function refused(name: string, type: ColumnDefinition['type'], value: unknown): StateError {
  return new StateError(`${name} must be ${expected[type]}, got ${describeThrown(value)}`)
}
