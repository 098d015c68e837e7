import type { SchemaNode } from '../schema/schema-node.ts'
import { isMultipleOf, leastMultiple, timesDecimal } from '../validate/decimal.ts'
import { type Answer, found, none, unknown } from './answer.ts'
import type { Demands } from './demands.ts'

interface Bound {
  readonly value: number
  readonly isExclusive: boolean
}

/** Multiples tried before the search gives up. */
const mostTried = 2_000

/** Finds a number that meets bounds and steps. */
export function findNumber({ nodes, atoms, isInteger }: Demands): Answer {
  const low = boundOf(nodes, 'minimum', 'exclusiveMinimum', (one, other) => one > other)
  const high = boundOf(nodes, 'maximum', 'exclusiveMaximum', (one, other) => one < other)
  if (low !== undefined && high !== undefined) {
    if (low.value > high.value) return none
    if (low.value === high.value && (low.isExclusive || high.isExclusive)) return none
  }
  const steps = nodes.flatMap(({ multipleOf }) => multipleOf ?? [])
  if (isInteger) steps.push(1)
  const avoided = atoms.flatMap((atom) => (atom.kind === 'NOT_MULTIPLE' ? atom.step : []))
  const excluded = new Set(atoms.flatMap((atom) => (atom.kind === 'NOT_ONE_OF' ? atom.values : [])))
  const fits = (value: number): boolean =>
    Number.isFinite(value) &&
    isAbove(low, value) &&
    isBelow(high, value) &&
    steps.every((step) => isMultipleOf(value, step)) &&
    !avoided.some((step) => isMultipleOf(value, step)) &&
    !excluded.has(value)
  if (steps.length > 0) {
    const step = steps.reduce(leastMultiple)
    // Not exact if no number is the least common multiple.
    return steps.every((each) => isMultipleOf(step, each)) ? findMultiple(step, low, high, fits, avoided) : unknown
  }
  for (const value of denseCandidates(low, high)) if (fits(value)) return found(value)
  return low !== undefined && low.value === high?.value ? none : unknown
}

/** Multiples near zero first: they are the easiest to read. */
function findMultiple(
  step: number,
  low: Bound | undefined,
  high: Bound | undefined,
  fits: (value: number) => boolean,
  avoided: readonly number[],
): Answer {
  if (avoided.some((other) => isMultipleOf(step, other))) return none
  const first = low === undefined ? Number.NEGATIVE_INFINITY : Math.ceil(low.value / step) - 1
  const last = high === undefined ? Number.POSITIVE_INFINITY : Math.floor(high.value / step) + 1
  const start = Math.min(Math.max(0, first), last)
  // Beyond 2^53 not every count is a number, so that some multiples are not looked at.
  let isComplete = true
  for (let distance = 0; distance <= mostTried; distance += 1) {
    for (const count of distance === 0 ? [start] : [start + distance, start - distance]) {
      if (count < first || count > last) continue
      const value = Number.isFinite(count) ? timesDecimal(step, count) : count
      if (fits(value)) return found(value)
      if (!Number.isSafeInteger(count) && isAbove(low, value) && isBelow(high, value)) isComplete = false
    }
    if (start + distance > last && start - distance < first) return isComplete ? none : unknown
  }
  return unknown
}

function* denseCandidates(low: Bound | undefined, high: Bound | undefined): Generator<number> {
  const from = low?.value ?? Math.min(0, (high?.value ?? 0) - 10)
  const to = high?.value ?? Math.max(0, from + 10)
  yield* [0, 1, -1, 0.5, 0.123456, from, to]
  for (let whole = Math.ceil(from); whole <= to && whole < from + 50; whole += 1) yield whole
  // Far from round numbers, so that no step in use divides all of them.
  for (const part of [0.5, 0.25, 0.1, 0.37, 0.731, 0.9137, 0.01, 0.99]) yield from + (to - from) * part
  yield to + 1
  yield from - 1
  for (const part of [0.5, 0.3, 0.07, 0.0031]) {
    yield to + part
    yield from - part
  }
}

function boundOf(
  nodes: readonly SchemaNode[],
  inclusive: 'minimum' | 'maximum',
  exclusive: 'exclusiveMinimum' | 'exclusiveMaximum',
  isTighter: (one: number, other: number) => boolean,
): Bound | undefined {
  let tightest: Bound | undefined
  for (const node of nodes)
    for (const [value, isExclusive] of [
      [node[inclusive], false],
      [node[exclusive], true],
    ] as const) {
      if (value === undefined) continue
      if (tightest === undefined || isTighter(value, tightest.value) || (value === tightest.value && isExclusive))
        tightest = { value, isExclusive }
    }
  return tightest
}

function isAbove(bound: Bound | undefined, value: number): boolean {
  return bound === undefined || value > bound.value || (!bound.isExclusive && value === bound.value)
}

function isBelow(bound: Bound | undefined, value: number): boolean {
  return bound === undefined || value < bound.value || (!bound.isExclusive && value === bound.value)
}
