/**
 * The known word nearest to a misspelt one, or undefined when none is close enough to be what was meant. Case and
 * separators do not count, so `group-id` finds `groupId`, nor does a forgotten unit, so `delay` finds `delayMs`. Where
 * none is near, the only one with the same beginning or end: `group` finds `groupId`, `topicPattern` finds `topic`.
 */
export function nearest(misspelt: string, known: Iterable<string>): string | undefined {
  const wanted = normalise(misspelt)
  // A third of the letters may be wrong, never all: `maxAttemps` is a slip, `retries` for `concurrency` is not.
  let best = Math.min(Math.max(1, Math.floor(wanted.length / 3)) + 1, wanted.length)
  let found: string | undefined
  for (const candidate of known) {
    for (const word of [normalise(candidate), normalise(candidate.replace(/(Ms|Bytes)$/, ''))]) {
      // Each letter too many or too few costs one edit: no need to compare a key of a megabyte.
      if (Math.abs(word.length - wanted.length) >= best) continue
      const distance = editDistance(wanted, word)
      if (distance >= best) continue
      best = distance
      found = candidate
    }
  }
  return found ?? alike(wanted, known)
}

/** Shorter parts than this are in words that have nothing else in common. */
const leastPart = 4

function alike(wanted: string, known: Iterable<string>): string | undefined {
  const found = [...known].filter((candidate) => {
    const word = normalise(candidate)
    const [short, long] = word.length < wanted.length ? [word, wanted] : [wanted, word]
    return short.length >= leastPart && (long.startsWith(short) || long.endsWith(short))
  })
  return found.length === 1 ? found[0] : undefined
}

function normalise(word: string): string {
  return word.replace(/[-_ ]/g, '').toLowerCase()
}

/** Insertions, deletions, replacements and swaps of neighbours that turn one word into the other. */
function editDistance(from: string, to: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: to.length + 1 }, (_, column) => column)
  for (let row = 1; row <= from.length; row++) {
    const current = [row]
    for (let column = 1; column <= to.length; column++) {
      const same = from[row - 1] === to[column - 1]
      let cost = Math.min(at(last, column) + 1, at(current, column - 1) + 1, at(last, column - 1) + (same ? 0 : 1))
      const swapped = row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1]
      if (swapped) cost = Math.min(cost, at(beforeLast, column - 2) + 1)
      current.push(cost)
    }
    beforeLast = last
    last = current
  }
  return at(last, to.length)
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY
}
