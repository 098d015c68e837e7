/** JSON of commands and answers. 64-bit numbers are `{ "$n": "123" }`: as numbers, offsets above 2^53 would lose digits. */

import { isPlainObject } from '@waybill/core/option'

/** Returns a copy that JSON can hold. Members that are undefined are left out. */
export function toJson(value: unknown): unknown {
  if (typeof value === 'bigint') return { $n: value.toString() }
  if (Array.isArray(value)) return value.map(toJson)
  if (!isPlainObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, one]) => (one === undefined ? [] : [[name, toJson(one)]])),
  )
}

/** Returns what {@link toJson} was given. */
export function fromJson(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(fromJson)
  if (!isPlainObject(value)) return value
  const { $n } = value
  if (typeof $n === 'string' && /^-?\d+$/.test($n)) return BigInt($n)
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, fromJson(one)]))
}
