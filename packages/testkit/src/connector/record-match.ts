import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { isDeepStrictEqual } from 'node:util'
import { ArgumentError } from '@waybill/core'
import { isPlainObject, nearest, showValue } from '@waybill/core/option'

/** Expected bytes; a string stands for its UTF-8 encoding. */
export type ExpectedBytes = string | Uint8Array | null

/** Expected fields of any kind of record; an omitted field may have any value. */
export interface ExpectedRecord {
  readonly key?: ExpectedBytes
  readonly value?: ExpectedBytes
  /**
   * Some of its headers, as strings; the last of several with one name counts. Null expects an absent or null header.
   */
  readonly headers?: Readonly<Record<string, string | null>>
  readonly originalTopic?: string
  readonly originalPartition?: number
  readonly originalOffset?: bigint
  readonly totalAttempts?: number
}

/** Names of the fields of any expectation. */
export const expectedFields: Readonly<Record<keyof ExpectedRecord, 0>> = {
  key: 0,
  value: 0,
  headers: 0,
  originalTopic: 0,
  originalPartition: 0,
  originalOffset: 0,
  totalAttempts: 0,
}

/** A record that can be compared. */
export interface ComparedRecord {
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly headers: { text(name: string): string | undefined }
}

/** Describes the differences from the expected record, one line each. */
export function differences(record: ComparedRecord & object, expected: ExpectedRecord & object): string[] {
  const { headers = {}, ...fields } = expected
  return [
    ...Object.entries(fields).flatMap(([name, wanted]) =>
      wanted === undefined ? [] : differenceIn(name, (record as unknown as Record<string, unknown>)[name], wanted),
    ),
    ...Object.entries(headers).flatMap(([name, wanted]) =>
      differenceIn(`header ${name}`, record.headers.text(name) ?? null, wanted),
    ),
  ]
}

/** Throws unless there are `count` records, and names those there are. */
export function assertCount<T extends ComparedRecord>(
  what: string,
  records: readonly T[],
  count: number,
): readonly T[] {
  const held = records.length === 1 ? '1 record' : `${records.length} records`
  assert.ok(records.length === count, `${what} holds ${held}, not ${count}: ${shown(records)}.`)
  return records
}

/** Returns the first matching record. Otherwise throws, with the differences of the closest one. */
export function assertContains<T extends ComparedRecord>(
  what: string,
  records: readonly T[],
  expected: ExpectedRecord,
): T {
  const compared = records.map((record) => ({ record, wrong: differences(record, expected) }))
  const [closest] = compared.toSorted((a, b) => a.wrong.length - b.wrong.length)
  assert.ok(closest !== undefined, `${what} has no records. Expected one with ${describeExpected(expected)}.`)
  assert.ok(closest.wrong.length === 0, `${what} has no such record. The closest one has ${closest.wrong.join('; ')}.`)
  return closest.record
}

/** Validates an expectation; `fields` are the allowed names. @throws ArgumentError */
export function assertExpectation(expected: unknown, fields: readonly string[]): void {
  const hint = "Write contains({ key: 'o-1' }): an omitted field may have any value."
  if (!isPlainObject(expected))
    throw new ArgumentError(`contains() takes the expected fields of a record, got ${showValue(expected)}.`, { hint })
  for (const name of Object.keys(expected)) {
    if (fields.includes(name)) continue
    const meant = nearest(name, fields)
    const suggestion = meant === undefined ? `use one of ${fields.join(', ')}.` : `did you mean ${meant}?`
    throw new ArgumentError(`contains(): ${name} is not a field; ${suggestion}`, { hint })
  }
}

function describeExpected({ headers = {}, ...fields }: ExpectedRecord): string {
  const parts = [
    ...Object.entries(fields).flatMap(([name, wanted]) => (wanted === undefined ? [] : [`${name} ${show(wanted)}`])),
    ...Object.entries(headers).map(([name, wanted]) => `header ${name} ${show(wanted)}`),
  ]
  return parts.join('; ') || 'anything'
}

function differenceIn(name: string, actual: unknown, wanted: unknown): string[] {
  const isSame = isBytes(actual) ? isSameBytes(actual, wanted) : isDeepStrictEqual(actual, wanted)
  return isSame ? [] : [`${name} ${show(actual)} instead of ${show(wanted)}`]
}

function isSameBytes(actual: Uint8Array, wanted: unknown): boolean {
  if (typeof wanted === 'string') return Buffer.from(wanted).equals(actual)
  return isBytes(wanted) && Buffer.from(wanted).equals(actual)
}

function isBytes(value: unknown): value is Uint8Array {
  return value instanceof Uint8Array
}

function show(value: unknown): string {
  if (isBytes(value)) return JSON.stringify(Buffer.from(value).toString())
  return typeof value === 'string' ? JSON.stringify(value) : String(value)
}

function shown(records: readonly ComparedRecord[]): string {
  return records.length === 0 ? 'it is empty' : records.map(({ value }) => show(value)).join(', ')
}
