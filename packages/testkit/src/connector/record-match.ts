import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { isDeepStrictEqual } from 'node:util'
import { ArgumentError } from '@waybill/core'
import { isPlainObject, nearest, showValue } from '@waybill/core/option'

/** A text stands for its UTF-8 bytes. */
export type ExpectedBytes = string | Uint8Array | null

/** What every kind of record can be asked for; what is left out may be anything. */
export interface ExpectedRecord {
  readonly key?: ExpectedBytes
  readonly value?: ExpectedBytes
  /** Some of its headers, as text; of several with a name the last counts. Null asks for one that is absent or null. */
  readonly headers?: Readonly<Record<string, string | null>>
  readonly originalTopic?: string
  readonly originalPartition?: number
  readonly originalOffset?: bigint
  readonly totalAttempts?: number
}

/** Names of what every kind of record can be asked for. */
export const expectedFields: Readonly<Record<keyof ExpectedRecord, 0>> = {
  key: 0,
  value: 0,
  headers: 0,
  originalTopic: 0,
  originalPartition: 0,
  originalOffset: 0,
  totalAttempts: 0,
}

/** A record as it can be compared. */
export interface ComparedRecord {
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly headers: { text(name: string): string | undefined }
}

/** Where a record is not what was expected: one line each. */
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

/** Fails unless there are so many; tells what there is. */
export function assertCount<T extends ComparedRecord>(
  what: string,
  records: readonly T[],
  count: number,
): readonly T[] {
  const held = records.length === 1 ? '1 record' : `${records.length} records`
  assert.ok(records.length === count, `${what} holds ${held}, not ${count}: ${shown(records)}.`)
  return records
}

/** The first record that is as expected. Fails with what is different in the one that comes nearest. */
export function assertContains<T extends ComparedRecord>(
  what: string,
  records: readonly T[],
  expected: ExpectedRecord,
): T {
  const compared = records.map((record) => ({ record, wrong: differences(record, expected) }))
  const [closest] = compared.toSorted((a, b) => a.wrong.length - b.wrong.length)
  assert.ok(closest !== undefined, `${what} holds no record. Awaited is one with ${describeExpected(expected)}.`)
  assert.ok(closest.wrong.length === 0, `${what} holds no such record. The nearest has ${closest.wrong.join('; ')}.`)
  return closest.record
}

/** `fields` are those that the record can be asked for. @throws ArgumentError for what is no description of a record */
export function assertExpectation(expected: unknown, fields: readonly string[]): void {
  const hint = "Write contains({ key: 'o-1' }): what is left out may be anything."
  if (!isPlainObject(expected))
    throw new ArgumentError(`contains() takes what the record is to have, got ${showValue(expected)}.`, { hint })
  for (const name of Object.keys(expected)) {
    if (fields.includes(name)) continue
    const meant = nearest(name, fields)
    const suggestion = meant === undefined ? `they are ${fields.join(', ')}.` : `did you mean ${meant}?`
    throw new ArgumentError(`contains(): ${name} is no field; ${suggestion}`, { hint })
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
