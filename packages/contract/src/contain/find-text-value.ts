import { findTexts } from '../pattern/find-text.ts'
import { textsMatching } from '../pattern/pattern-texts.ts'
import type { TextSet, TextSets } from '../pattern/text-set.ts'
import { listId } from '../schema/listed-values.ts'
import { formatTexts } from '../validate/format-texts.ts'
import { type Answer, found, none, unknown } from './answer.ts'
import type { Demands } from './demands.ts'

/** Two sets around a set that is not known exactly. */
export interface TextRange {
  readonly surely: TextSet
  readonly perhaps: TextSet
}

/** Returns the texts of a pattern: none surely and all perhaps for one that no set of texts can express. */
export function patternRange(sets: TextSets, pattern: string): TextRange {
  const exact = textsMatching(sets, pattern)
  return exact === undefined ? { surely: sets.nothing, perhaps: sets.any } : { surely: exact, perhaps: exact }
}

/** Returns the complement of a range. */
export function invertRange(sets: TextSets, { surely, perhaps }: TextRange): TextRange {
  return { surely: sets.not(perhaps), perhaps: sets.not(surely) }
}

/** Returns the texts of a length, in characters. */
export function lengthSet(sets: TextSets, min: number, max: number): TextSet {
  return sets.repeat(sets.char(), Math.max(0, Math.ceil(min)), Math.floor(max))
}

/** Returns the set of one text. */
export function singleText(sets: TextSets, text: string): TextSet {
  return Array.from(text).reduceRight((rest, char) => {
    const code = char.codePointAt(0) ?? 0
    return sets.andThen(sets.chars([[code, code]]), rest)
  }, sets.blank)
}

function formatRange(sets: TextSets, format: string): TextRange {
  const texts = formatTexts.get(format)
  if (texts === undefined) return { surely: sets.nothing, perhaps: sets.any }
  return {
    surely: patternRange(sets, texts.surely).surely,
    perhaps: patternRange(sets, texts.perhaps).perhaps,
  }
}

function isWithin(format: string, wider: string): boolean {
  return format === wider || formatTexts.get(format)?.within?.includes(wider) === true
}

/** Longer bounds are checked on the texts found, since each character of a length is a state of the search. */
const longestExact = 600

/** Steps of a search for one text: some tenths of a second. Patterns that need more are not compared. */
const mostPatternWork = 1_500_000

/** Finds a text that meets patterns, formats and lengths. */
export function findTextValue(sets: TextSets, demands: Demands, assertsFormat: boolean): Answer {
  const key = demandKey(demands)
  if (sets.undecided.has(key)) return unknown
  const answer = sets.within(mostPatternWork, () => findByPatterns(sets, demands, assertsFormat)) ?? unknown
  if (answer.kind === 'UNKNOWN') sets.undecided.add(key)
  return answer
}

/** The patterns and lengths of demands: those that could not be decided once are not tried again. */
function demandKey({ nodes, atoms }: Demands): string {
  return JSON.stringify([
    nodes.map(({ pattern, minLength, maxLength, format }) => [pattern, minLength, maxLength, format]),
    atoms.map((atom) => (atom.kind === 'NOT_ONE_OF' ? listId(atom.values) : atom)),
  ])
}

function findByPatterns(sets: TextSets, { nodes, atoms }: Demands, assertsFormat: boolean): Answer {
  const min = Math.max(0, ...nodes.map(({ minLength }) => Math.ceil(minLength ?? 0)))
  const max = Math.min(...nodes.map(({ maxLength }) => maxLength ?? Number.POSITIVE_INFINITY))
  if (min > max) return none
  const patterns = new Set(nodes.flatMap(({ pattern }) => pattern ?? []))
  const formats = new Set(assertsFormat ? nodes.flatMap(({ format }) => format ?? []) : [])
  const excluded = new Set<string>()
  const ranges: TextRange[] = [...patterns].map((pattern) => patternRange(sets, pattern))
  ranges.push(...[...formats].map((format) => formatRange(sets, format)))
  for (const atom of atoms) {
    if (atom.kind === 'NOT_PATTERN') {
      if (patterns.has(atom.pattern)) return none
      ranges.push(invertRange(sets, patternRange(sets, atom.pattern)))
    } else if (atom.kind === 'NOT_FORMAT') {
      if (!assertsFormat || [...formats].some((format) => isWithin(format, atom.format))) return none
      ranges.push(invertRange(sets, formatRange(sets, atom.format)))
    } else if (atom.kind === 'NOT_ONE_OF')
      for (const value of atom.values) if (typeof value === 'string') excluded.add(value)
  }
  if (ranges.length === 0) return findByLength(min, max, excluded)
  const others = [...excluded].map((text) => sets.not(singleText(sets, text)))
  const surely = sets.and([...ranges.map((range) => range.surely), ...others])
  const perhaps = sets.and([...ranges.map((range) => range.perhaps), ...others])
  const sure = findInLength(sets, surely, min, max)
  if (sure.kind === 'FOUND' || surely === perhaps) return sure
  return findInLength(sets, perhaps, min, max).kind === 'NONE' ? none : unknown
}

function findInLength(sets: TextSets, set: TextSet, min: number, max: number): Answer {
  const shortest = findTexts(sets, set)
  if (shortest === undefined) return unknown
  const [text] = shortest
  if (text === undefined) return none
  const length = Array.from(text).length
  if (length > max) return none
  if (length >= min) return found(text)
  if (min > longestExact) return unknown
  const bounded = findTexts(
    sets,
    sets.and([set, lengthSet(sets, min, max > longestExact ? Number.POSITIVE_INFINITY : max)]),
  )
  const [first] = bounded ?? []
  if (bounded === undefined) return unknown
  if (first === undefined) return none
  return Array.from(first).length <= max ? found(first) : none
}

function findByLength(min: number, max: number, excluded: ReadonlySet<string>): Answer {
  for (let extra = 0; extra <= excluded.size; extra += 1)
    for (const char of 'abcdefghijklmnopqrstuvwxyz') {
      const length = min + Math.floor(extra / 26)
      const text = (char.repeat(Math.max(1, length)) + 'a'.repeat(extra)).slice(0, Math.min(max, length + extra))
      if (Array.from(text).length >= min && !excluded.has(text)) return found(text)
    }
  return max <= 0 ? none : unknown
}
