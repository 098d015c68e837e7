/** The few numbers a benchmark reports. */

/** The middle of the values. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other)
  const middle = sorted.length / 2
  if (sorted.length === 0) return Number.NaN
  return Number.isInteger(middle)
    ? ((sorted[middle - 1] as number) + (sorted[middle] as number)) / 2
    : (sorted[Math.floor(middle)] as number)
}

/** Half the distance between the lowest and the highest value, as a share of the median: how far a round can be off. */
function spread(values: readonly number[]): number {
  return (Math.max(...values) - Math.min(...values)) / 2 / median(values)
}

/** One line of a benchmark: a value of ours beside the same value of somebody else, of the same run. */
export interface BenchLine {
  readonly bench: string
  readonly case: string
  readonly unit: string
  readonly value: number
  readonly reference: string
  readonly referenceValue: number
  /** Above 1 is better than the reference, whatever the unit. */
  readonly ratio: number
  /** Of the ratio, over the rounds. A ratio within it of a bar has not passed the bar. */
  readonly spread: number
  readonly runs: number
}

/** Compares rounds that were run side by side. */
export function compare(
  names: Pick<BenchLine, 'bench' | 'case' | 'unit' | 'reference'>,
  ours: readonly number[],
  theirs: readonly number[],
  isLowerBetter = false,
): BenchLine {
  const ratios = ours.map((value, round) => {
    const other = theirs[round] as number
    return isLowerBetter ? other / value : value / other
  })
  return {
    ...names,
    value: rounded(median(ours)),
    referenceValue: rounded(median(theirs)),
    ratio: rounded(median(ratios)),
    spread: rounded(spread(ratios)),
    runs: ours.length,
  }
}

function rounded(value: number): number {
  return Number(value.toPrecision(4))
}
