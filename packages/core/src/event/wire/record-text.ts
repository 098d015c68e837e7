import type { RecordHeaders } from '../../header/headers.ts'
import { recordUnchanged } from '../error-context.ts'
import { ParseError, type SchemaViolation, SchemaViolationError } from '../event-errors.ts'
import { utf8Text } from '../utf8.ts'
import type { WireRecord } from './wire-format.ts'

/** The error for a record that is not what its format demands. */
export function recordViolation(path: string, message: string): SchemaViolationError {
  return recordViolations([{ path, message }])
}

/** {@link recordViolation} for several at once. */
export function recordViolations(violations: readonly SchemaViolation[]): SchemaViolationError {
  return new SchemaViolationError('The record', violations, recordUnchanged)
}

/** The record's key as text, null without one. */
export function keyText({ key }: WireRecord): string | null {
  if (key === null) return null
  const text = utf8Text(key)
  if (text === undefined) throw recordViolation('key', 'is not UTF-8')
  return text
}

/** The record's value, which an event always has. */
export function valueOf({ value }: WireRecord): Buffer {
  if (value === null)
    throw new ParseError('The record has no value: it deletes its key and is no event.', recordUnchanged)
  return value
}

/** A header as text; undefined when it is absent or null. Other than `RecordHeaders.text` it never guesses at bytes. */
export function headerText(headers: RecordHeaders, name: string): string | undefined {
  const bytes = headers.get(name)
  if (bytes === null || bytes === undefined) return undefined
  const text = utf8Text(bytes)
  if (text === undefined) throw recordViolation(`headers.${name}`, 'is not UTF-8')
  return text
}
