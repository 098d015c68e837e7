import { ArgumentError } from '../errors.ts'
import { showValue } from '../option/show-value.ts'

/** The value, when it is a text that UTF-8 can hold: two ids that differ in half a surrogate pair are one key on Kafka. */
export function requireText(field: string, value: unknown): string {
  if (typeof value !== 'string') throw new ArgumentError(`${field} is text, not ${showValue(value)}.`)
  if (!value.isWellFormed()) throw new ArgumentError(`${field} holds half a surrogate pair.`)
  return value
}
