import { describeThrown } from '../errors.ts'

/** An object literal, of this realm or another; an instance of a class is none. */
export function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

/** A value that was refused, short and safe to print: of an object only its kind. */
export function showValue(value: unknown): string {
  if (typeof value === 'string') return quote(value)
  if (typeof value === 'function') return 'a function'
  if (value instanceof RegExp) return quote(String(value))
  if (Array.isArray(value)) return `a list of ${value.length}`
  if (isPlainObject(value)) return 'an object'
  if (typeof value === 'object' && value !== null) return `an instance of ${value.constructor.name}`
  return describeThrown(value)
}

function quote(text: string): string {
  // A connection URL in the wrong place must not print its password.
  const safe = text.replace(/:\/\/\S*@/g, '://…@')
  return safe.length > 60 ? `${JSON.stringify(safe.slice(0, 60))}…` : JSON.stringify(safe)
}
