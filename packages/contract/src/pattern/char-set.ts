/** A set of Unicode characters: ascending ranges without gaps of zero between them. */
export type CharSet = readonly (readonly [low: number, high: number])[]

/** All characters of a well-formed text. Halves of surrogate pairs are none. */
export const anyChar: CharSet = [
  [0, 0xd7ff],
  [0xe000, 0x10ffff],
]

/** Creates a set from ranges in any order. */
export function charSet(ranges: Iterable<readonly [number, number]>): CharSet {
  const sorted = [...ranges].filter(([low, high]) => low <= high).toSorted((one, other) => one[0] - other[0])
  const merged: [number, number][] = []
  for (const [low, high] of sorted) {
    const last = merged.at(-1)
    if (last !== undefined && low <= last[1] + 1) last[1] = Math.max(last[1], high)
    else merged.push([low, high])
  }
  return intersectChars(merged, anyChar)
}

/** Returns the characters of both sets. */
export function intersectChars(one: CharSet, other: CharSet): CharSet {
  const found: [number, number][] = []
  for (let i = 0, j = 0; i < one.length && j < other.length; ) {
    const [left, right] = [one[i], other[j]]
    if (left === undefined || right === undefined) break
    const [low, high] = [Math.max(left[0], right[0]), Math.min(left[1], right[1])]
    if (low <= high) found.push([low, high])
    if (left[1] < right[1]) i += 1
    else j += 1
  }
  return found
}

/** Returns the characters outside a set. */
export function invertChars(set: CharSet): CharSet {
  const found: [number, number][] = []
  let next = 0
  for (const [low, high] of set) {
    if (low > next) found.push([next, low - 1])
    next = high + 1
  }
  if (next <= 0x10ffff) found.push([next, 0x10ffff])
  return intersectChars(found, anyChar)
}

/** Tells whether a character is in a set. */
export function hasChar(set: CharSet, char: number): boolean {
  return set.some(([low, high]) => low <= char && char <= high)
}

const readable: readonly (readonly [number, number])[] = [
  [0x61, 0x7a],
  [0x30, 0x39],
  [0x41, 0x5a],
  [0x20, 0x7e],
]

/** Returns a character of a set that is not empty, one that is easy to read if there is one. */
export function pickChar(set: CharSet): number {
  for (const range of readable) {
    const [found] = intersectChars(set, [range])
    if (found !== undefined) return found[0]
  }
  return set[0]?.[0] ?? 0
}
