/** The statistics of a benchmark. */

/** Returns the median of the values. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other)
  const middle = sorted.length / 2
  if (sorted.length === 0) return Number.NaN
  return Number.isInteger(middle)
    ? ((sorted[middle - 1] as number) + (sorted[middle] as number)) / 2
    : (sorted[Math.floor(middle)] as number)
}

/** The confidence of a median's range, given enough rounds. */
const wantedConfidence = 0.95

/**
 * Returns the 95 % confidence interval of the median: the narrowest range between the k-th lowest and the k-th highest
 * value, whatever the distribution. For five rounds or fewer it spans all values.
 */
export function medianRange(values: readonly number[]): readonly [low: number, high: number] {
  const sorted = values.toSorted((one, other) => one - other)
  let left = 0
  while (1 - 2 * chanceOfAtMost(left + 1, sorted.length) >= wantedConfidence) left++
  return [sorted[left] as number, sorted[sorted.length - 1 - left] as number]
}

/** A round falls below the median with probability one half, so the count is binomial. */
function chanceOfAtMost(heads: number, throws: number): number {
  let ways = 1
  let all = 1
  for (let count = 1; count <= heads; count++) {
    ways *= (throws - count + 1) / count
    all += ways
  }
  return all / 2 ** throws
}

/** One line of a benchmark: a value of Waybill beside that of a reference, of the same run. */
export interface BenchLine {
  readonly bench: string
  readonly case: string
  readonly unit: string
  readonly value: number
  readonly reference: string
  readonly referenceValue: number
  /** Above 1 is better than the reference, whatever the unit. */
  readonly ratio: number
  /** The 95 % confidence interval of the ratio's median. A bar within it is not passed. */
  readonly low: number
  readonly high: number
  readonly runs: number
}

/** A remark on a case: a contestant that is not compared and why, or numbers that explain the lines. */
export interface BenchNote {
  readonly bench: string
  readonly case: string
  readonly note: string
}

/** Compares interleaved rounds. */
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
  const [low, high] = medianRange(ratios)
  return {
    ...names,
    value: rounded(median(ours)),
    referenceValue: rounded(median(theirs)),
    ratio: rounded(median(ratios)),
    low: rounded(low),
    high: rounded(high),
    runs: ours.length,
  }
}

function rounded(value: number): number {
  return Number(value.toPrecision(4))
}
