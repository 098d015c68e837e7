/** The answer of a validator that knows its limits. */
export type Verdict = 'YES' | 'NO' | 'UNKNOWN'

/** YES if all are, NO if one is. */
export function all(verdicts: Iterable<Verdict>): Verdict {
  let worst: Verdict = 'YES'
  for (const verdict of verdicts) {
    if (verdict === 'NO') return 'NO'
    if (verdict === 'UNKNOWN') worst = 'UNKNOWN'
  }
  return worst
}

/** YES if one is, NO if none is. */
export function any(verdicts: Iterable<Verdict>): Verdict {
  let best: Verdict = 'NO'
  for (const verdict of verdicts) {
    if (verdict === 'YES') return 'YES'
    if (verdict === 'UNKNOWN') best = 'UNKNOWN'
  }
  return best
}

/** The opposite answer. */
export function opposite(verdict: Verdict): Verdict {
  return verdict === 'UNKNOWN' ? 'UNKNOWN' : verdict === 'YES' ? 'NO' : 'YES'
}

/** The answer to a question that has one. */
export function verdictOf(isTrue: boolean): Verdict {
  return isTrue ? 'YES' : 'NO'
}

/** YES if the number of YES lies between the bounds. */
export function count(verdicts: Iterable<Verdict>, min: number, max: number): Verdict {
  let [sure, open] = [0, 0]
  for (const verdict of verdicts) {
    if (verdict === 'YES') sure += 1
    else if (verdict === 'UNKNOWN') open += 1
  }
  if (sure > max || sure + open < min) return 'NO'
  return sure >= min && sure + open <= max ? 'YES' : 'UNKNOWN'
}
