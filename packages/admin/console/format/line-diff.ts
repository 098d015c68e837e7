/** The differences of two texts, line by line. */

/** A line of either text, or of both. */
export interface DiffLine {
  readonly kind: 'same' | 'removed' | 'added'
  readonly text: string
}

/** Beyond this the middle is shown as one change: the table of the comparison grows with the square. */
const maxCompared = 1_000

/** Compares two texts. */
export function lineDiff(before: string, after: string): readonly DiffLine[] {
  const one = before.split('\n')
  const other = after.split('\n')
  let start = 0
  while (start < one.length && start < other.length && one[start] === other[start]) start++
  let end = 0
  while (end < one.length - start && end < other.length - start && one.at(-1 - end) === other.at(-1 - end)) end++
  return [
    ...one.slice(0, start).map(same),
    ...middle(one.slice(start, one.length - end), other.slice(start, other.length - end)),
    ...(end === 0 ? [] : one.slice(-end).map(same)),
  ]
}

function same(text: string): DiffLine {
  return { kind: 'same', text }
}

function middle(one: readonly string[], other: readonly string[]): readonly DiffLine[] {
  const removed = one.map((text): DiffLine => ({ kind: 'removed', text }))
  const added = other.map((text): DiffLine => ({ kind: 'added', text }))
  if (one.length === 0 || other.length === 0 || one.length > maxCompared || other.length > maxCompared)
    return [...removed, ...added]
  const lengths = sharedLengths(one, other)
  const result: DiffLine[] = []
  let [i, j] = [0, 0]
  while (i < one.length && j < other.length) {
    const [left = '', right = ''] = [one[i], other[j]]
    if (left === right) {
      result.push(same(left))
      i++
      j++
    } else if (at(lengths, i + 1, j) >= at(lengths, i, j + 1)) {
      result.push({ kind: 'removed', text: left })
      i++
    } else {
      result.push({ kind: 'added', text: right })
      j++
    }
  }
  return [...result, ...removed.slice(i), ...added.slice(j)]
}

/** The length of the longest shared part of what follows each pair of lines. */
function sharedLengths(one: readonly string[], other: readonly string[]): readonly Uint16Array[] {
  const lengths = Array.from({ length: one.length + 1 }, () => new Uint16Array(other.length + 1))
  for (let i = one.length - 1; i >= 0; i--)
    for (let j = other.length - 1; j >= 0; j--)
      (lengths[i] as Uint16Array)[j] =
        one[i] === other[j] ? at(lengths, i + 1, j + 1) + 1 : Math.max(at(lengths, i + 1, j), at(lengths, i, j + 1))
  return lengths
}

function at(lengths: readonly Uint16Array[], i: number, j: number): number {
  return lengths[i]?.[j] ?? 0
}
