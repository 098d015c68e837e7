import type { Schemas } from '../../api/api-types.ts'

type Binding = Schemas['Binding']

/** How bad a binding is: the worst comes first. Pure. */
export function severityOf({ state, breaker, pausedBy, dead, retrying }: Binding): number {
  if (state === 'DESTROYED') return 0
  if (breaker.state === 'OPEN') return 6
  if (state === 'PAUSED') return pausedBy.includes('OPERATOR') ? 4 : 5
  if (state === 'STOPPED' || state === 'CREATED') return 3
  if (dead.depth !== null && dead.depth !== '0') return 2
  return retrying !== null && retrying !== '0' ? 1 : 0
}

/** Sums of all bindings. Null: at least one is not known, which is never 0. */
export interface Totals {
  readonly perSecond: number | null
  readonly lag: string | null
  readonly lagSeconds: number | null
  readonly retrying: string | null
  readonly dead: string | null
  readonly deadPerMinute: number | null
}

/** Adds up the figures of bindings. */
export function totalsOf(bindings: readonly Binding[]): Totals {
  return {
    perSecond: sumOf(bindings.map(({ rates }) => rates.processedPerSecond)),
    lag: bigSumOf(bindings.map(({ lag }) => lag.records)),
    lagSeconds: bindings.reduce<number | null>(
      (most, { lag }) => (lag.seconds === null ? most : Math.max(most ?? 0, lag.seconds)),
      null,
    ),
    retrying: bigSumOf(bindings.map(({ retrying }) => retrying)),
    dead: bigSumOf(bindings.map(({ dead }) => dead.depth)),
    deadPerMinute: sumOf(bindings.map(({ rates }) => rates.deadPerMinute)),
  }
}

function sumOf(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null)
  return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0)
}

/** Unlike a rate, a depth that is not known makes the sum unknown. */
function bigSumOf(values: readonly (string | null)[]): string | null {
  if (values.length === 0 || values.includes(null)) return null
  return String(values.reduce((sum, value) => sum + BigInt(value ?? 0), 0n))
}
