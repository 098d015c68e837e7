import type { DeadLetterFacet, DeadLetterFacetCounts, IndexedDeadLetter } from './dead-letter-index.ts'

/** The values of a facet that are counted one by one. */
const maxValues = 50

/** A dead letter, or several with the same values. */
export type FacetValues = Pick<IndexedDeadLetter, DeadLetterFacet> & { readonly count?: bigint }

/** Adds up the counts of each value of each facet. A missing value counts as an empty text. */
export function facetCountsOf(
  counted: readonly FacetValues[],
  by: readonly DeadLetterFacet[],
): Partial<Record<DeadLetterFacet, DeadLetterFacetCounts>> {
  return Object.fromEntries(by.map((facet) => [facet, countsOf(counted, facet)]))
}

function countsOf(counted: readonly FacetValues[], facet: DeadLetterFacet): DeadLetterFacetCounts {
  const counts = new Map<string, bigint>()
  for (const one of counted) {
    const value = one[facet] ?? ''
    counts.set(value, (counts.get(value) ?? 0n) + (one.count ?? 1n))
  }
  const sorted = Array.from(counts, ([value, count]) => ({ value, count })).toSorted(
    (one, other) => Number(other.count - one.count) || (one.value < other.value ? -1 : 1),
  )
  return {
    values: sorted.slice(0, maxValues),
    other: sorted.slice(maxValues).reduce((sum, { count }) => sum + count, 0n),
  }
}
