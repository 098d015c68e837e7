/**
 * Numbers as headers carry them, read where they lie: decimal digits, with a minus in front or without. Anybody may have
 * written them, so nothing here throws or answers NaN: a number beyond a bound counts as the bound, and what is no number
 * counts as absent.
 */

/** Year 9999: the last instant that ISO 8601 and every SQL database write down alike. */
export const latestTimestampMs: number = Date.UTC(9999, 11, 31, 23, 59, 59, 999)

const largestInt32 = 2 ** 31 - 1
const largestOffset = 2n ** 63n - 1n
const minus = 0x2d
const zero = 0x30

/**
 * The whole number from `start` to `end`, within its bounds; undefined when there is none.
 *
 * @defaultValue atMost 2^31-1, which is what a count or a partition can be on Kafka; atLeast 0
 */
export function readInteger(
  bytes: Buffer,
  start: number,
  end: number,
  atMost: number = largestInt32,
  atLeast: number = 0,
): number | undefined {
  const value = readDecimal(bytes, start, end)
  if (Number.isNaN(value)) return undefined
  if (value <= atLeast) return atLeast
  return value < atMost ? value : atMost
}

/** Epoch milliseconds from `start` to `end`, from 1970 to the end of the year 9999. */
export function readTimestampMs(bytes: Buffer, start: number, end: number): number | undefined {
  return readInteger(bytes, start, end, latestTimestampMs)
}

/** An offset from `start` to `end`, from 0 to 2^63-1. */
export function readOffset(bytes: Buffer, start: number, end: number): bigint | undefined {
  const value = readDecimal(bytes, start, end)
  if (Number.isNaN(value)) return undefined
  if (value <= 0) return 0n
  if (value <= Number.MAX_SAFE_INTEGER) return BigInt(value)
  // Beyond here a double is only near the value; twenty digits are past every offset, however long the text is.
  if (value >= 1e19) return largestOffset
  const exact = BigInt(bytes.toString('latin1', start, end))
  return exact < largestOffset ? exact : largestOffset
}

/** Reads decimal digits as a double without creating a string; NaN for anything else. */
function readDecimal(bytes: Buffer, start: number, end: number): number {
  const first = bytes[start] === minus ? start + 1 : start
  if (first >= end) return Number.NaN
  let value = 0
  for (let index = first; index < end; index++) {
    const digit = (bytes[index] as number) - zero
    if (digit < 0 || digit > 9) return Number.NaN
    value = value * 10 + digit
  }
  return first === start ? value : -value
}
