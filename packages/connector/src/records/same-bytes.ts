import type { Buffer } from 'node:buffer'

/** Compares two keys, values or headers. Null and empty differ. */
export function isSameBytes(left: Buffer | null, right: Buffer | null): boolean {
  return left === null || right === null ? left === right : left.equals(right)
}
