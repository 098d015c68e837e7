import { findTexts } from '../pattern/find-text.ts'
import type { TextSet, TextSets } from '../pattern/text-set.ts'
import type { SchemaNode } from '../schema/schema-node.ts'
import type { DeclaredNames } from './declared-names.ts'
import { patternRange, singleText, type TextRange } from './find-text-value.ts'
import { nameRange } from './name-range.ts'

/** More patterns on names than this make too many classes of names to look at each. */
const mostPatterns = 5

/** Names of members: those that schemas mention, and some of each class of others that all schemas treat alike. */
export interface MemberNames {
  readonly mentioned: ReadonlySet<string>
  readonly others: readonly string[]
  /** False if a class of names was not looked into. */
  readonly isComplete: boolean
}

/** Steps of a search for names: some tenths of a second. */
const mostPatternWork = 400_000

/** Returns names for members that fulfill demands on some member: `count` of each class, or all of a smaller one. */
export function memberNames(
  sets: TextSets,
  nodes: readonly SchemaNode[],
  refusedBy: readonly SchemaNode[],
  declared: DeclaredNames,
  extra: Iterable<string>,
  count: number,
): MemberNames {
  const mentioned = new Set(extra)
  for (const node of nodes)
    for (const name of [...(node.properties?.keys() ?? []), ...(node.required ?? [])]) mentioned.add(name)
  for (const name of declared.names ?? []) mentioned.add(name)
  const allowed = nodes.flatMap(({ propertyNames }) => propertyNames ?? [])
  for (const { enum: listed } of [...allowed, ...refusedBy])
    for (const name of listed ?? []) if (typeof name === 'string') mentioned.add(name)
  const plain: MemberNames = { mentioned, others: plainNames(mentioned), isComplete: false }
  return (
    sets.within(mostPatternWork, () => namesByPatterns(sets, nodes, refusedBy, allowed, declared, mentioned, count)) ??
    plain
  )
}

function namesByPatterns(
  sets: TextSets,
  nodes: readonly SchemaNode[],
  refusedBy: readonly SchemaNode[],
  allowed: readonly SchemaNode[],
  declared: DeclaredNames,
  mentioned: ReadonlySet<string>,
  count: number,
): MemberNames | undefined {
  const patterns = [
    ...new Set([
      ...nodes.flatMap(({ patternProperties = [] }) => patternProperties.map(([each]) => each)),
      ...declared.patterns,
    ]),
  ]
  const ranges: TextRange[] = [
    ...patterns.map((pattern) => patternRange(sets, pattern)),
    ...refusedBy.map((node) => nameRange(sets, node)),
  ]
  const isExact = ranges.every(({ surely, perhaps }) => surely === perhaps)
  if (!isExact || ranges.length > mostPatterns) return undefined
  const base = sets.and([
    ...allowed.map((node) => nameRange(sets, node).perhaps),
    ...[...mentioned].map((name) => sets.not(singleText(sets, name))),
  ])
  let isComplete = allowed.every((node) => {
    const { surely, perhaps } = nameRange(sets, node)
    return surely === perhaps
  })
  const others: string[] = []
  for (const part of classesOf(sets, base, ranges)) {
    const names = namesIn(sets, part, count)
    if (names === undefined) isComplete = false
    else others.push(...names)
  }
  return { mentioned, others, isComplete }
}

/** Returns the shortest names of a class, the empty one last; undefined if the search for them is too large. */
function namesIn(sets: TextSets, names: TextSet, count: number): readonly string[] | undefined {
  const found: string[] = []
  let others = sets.and([names, sets.not(sets.blank)])
  while (found.length < count) {
    const texts = findTexts(sets, others)
    if (texts === undefined) return undefined
    const [name] = texts
    if (name === undefined) return names.hasBlank ? [...found, ''] : found
    found.push(name)
    others = sets.and([others, sets.not(singleText(sets, name))])
  }
  return found
}

function classesOf(sets: TextSets, base: TextSet, ranges: readonly TextRange[]): readonly TextSet[] {
  return ranges.reduce<readonly TextSet[]>(
    (parts, { surely }) =>
      parts
        .flatMap((part) => [sets.and([part, surely]), sets.and([part, sets.not(surely)])])
        .filter((part) => part !== sets.nothing),
    [base],
  )
}

function plainNames(mentioned: ReadonlySet<string>): string[] {
  return ['other', 'another', 'x', 'y1', 'Z'].filter((name) => !mentioned.has(name))
}
