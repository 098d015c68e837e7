/**
 * `JSON.stringify` for answers with 64-bit numbers. It throws for a bigint, so objects that hold one get a `toJSON` that
 * writes bigints as decimal strings: as numbers, offsets above 2^53 would lose digits.
 */

import { isPlainObject } from '@waybill/core/option'

/**
 * Adds a non-enumerable `toJSON` to every plain object and array within an answer that has a bigint, and returns the same
 * answer. The objects keep their bigints, and compare, spread and clone as before. Frozen objects, which only a control of
 * the user's can return, are left as they are.
 */
export function jsonSafe<T>(answer: T): T {
  addToJson(answer, new Set())
  return answer
}

/** @param visited - objects that need no second visit: the answer of a user's control may be cyclic */
function addToJson(answer: unknown, visited: Set<unknown>): void {
  if ((!Array.isArray(answer) && !isPlainObject(answer)) || visited.has(answer)) return
  visited.add(answer)
  const values: readonly unknown[] = Object.values(answer)
  const isMissing = values.some((value) => typeof value === 'bigint') && !Object.hasOwn(answer, 'toJSON')
  if (isMissing && Object.isExtensible(answer)) Object.defineProperty(answer, 'toJSON', { value: toJson })
  for (const value of values) addToJson(value, visited)
}

/** Returns a copy without bigints. Nested objects are left to `JSON.stringify`, which calls their own `toJSON`. */
function toJson(this: object): object {
  if (Array.isArray(this)) return this.map(jsonOf)
  return Object.fromEntries(Object.entries(this).map(([name, value]) => [name, jsonOf(value)]))
}

function jsonOf(value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value
}
