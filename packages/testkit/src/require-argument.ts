/** Validates arguments, so that a wrong call fails at once and says how to write it. */

import { ArgumentError } from '@waybill/core'
import { hasMethods, isPlainObject, showValue } from '@waybill/core/option'

/**
 * Requires a function. `call` names the called function, `what` its argument, and `hint` the correct form. @throws
 * ArgumentError
 */
export function requireFunction(call: string, what: string, given: unknown, hint: string): void {
  if (typeof given !== 'function') throw wrong(call, what, given, hint)
}

/** @throws ArgumentError */
export function requireText(call: string, what: string, given: unknown, hint: string): void {
  if (typeof given !== 'string' || given === '') throw wrong(call, what, given, hint)
}

/** Requires a number of 0 or more; without `isWhole` Infinity is allowed too. @throws ArgumentError */
export function requireNumber(
  call: string,
  what: string,
  given: unknown,
  hint: string,
  { isWhole = false }: { readonly isWhole?: boolean } = {},
): void {
  const isRight = typeof given === 'number' && given >= 0 && (!isWhole || Number.isSafeInteger(given))
  if (!isRight) throw wrong(call, what, given, hint)
}

/**
 * Requires options or undefined. A function is refused, since it would pass as an empty object and never be called.
 * @throws ArgumentError
 */
export function requireOptions(call: string, given: unknown, hint: string): void {
  if (given !== undefined && !isPlainObject(given)) throw wrong(call, 'options', given, hint)
}

/** @throws ArgumentError */
export function requireMethods(
  call: string,
  what: string,
  given: unknown,
  methods: readonly string[],
  hint: string,
): void {
  if (!hasMethods(given, ...methods)) throw wrong(call, what, given, hint)
}

function wrong(call: string, what: string, given: unknown, hint: string): ArgumentError {
  return new ArgumentError(`${call} takes ${what}, got ${showValue(given)}.`, { hint })
}
