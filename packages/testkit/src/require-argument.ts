/** A test that is called wrongly fails at once and says how it is meant, instead of in the middle of something. */

import { ArgumentError } from '@waybill/core'
import { hasMethods, isPlainObject, showValue } from '@waybill/core/option'

/** `call` is what was called, `what` what it takes first, `hint` how that is written. @throws ArgumentError */
export function requireFunction(call: string, what: string, given: unknown, hint: string): void {
  if (typeof given !== 'function') throw wrong(call, what, given, hint)
}

/** @throws ArgumentError */
export function requireText(call: string, what: string, given: unknown, hint: string): void {
  if (typeof given !== 'string' || given === '') throw wrong(call, what, given, hint)
}

/** A number of 0 or more; without `isWhole` also Infinity. @throws ArgumentError */
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
 * What is given as options, or nothing. A function has no options either, and would pass for an empty object: the test
 * would be green without ever calling it. @throws ArgumentError
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
