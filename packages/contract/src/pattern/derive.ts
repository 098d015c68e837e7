import { anyChar, type CharSet, hasChar, intersectChars, invertChars } from './char-set.ts'
import type { TextSet, TextSets } from './text-set.ts'

/** Returns the rests of the texts of a set that begin with a character (Brzozowski's derivative). */
export function derive(sets: TextSets, set: TextSet, char: number): TextSet {
  sets.spend(1)
  switch (set.kind) {
    case 'NOTHING':
    case 'BLANK':
      return sets.nothing
    case 'CHARS':
      return hasChar(set.chars, char) ? sets.blank : sets.nothing
    case 'THEN': {
      const rests = sets.andThen(derive(sets, set.first, char), set.rest)
      return set.first.hasBlank ? sets.or([rests, derive(sets, set.rest, char)]) : rests
    }
    case 'REPEAT':
      return sets.andThen(derive(sets, set.item, char), sets.repeat(set.item, Math.max(set.min - 1, 0), set.max - 1))
    case 'OR':
      return sets.or(set.parts.map((part) => derive(sets, part, char)))
    case 'AND':
      return sets.and(set.parts.map((part) => derive(sets, part, char)))
    case 'NOT':
      return sets.not(derive(sets, set.item, char))
  }
}

/** Returns classes of characters: all of one class have the same derivative. */
export function charClassesOf(
  sets: TextSets,
  set: TextSet,
  known: Map<TextSet, readonly CharSet[]>,
): readonly CharSet[] {
  const earlier = known.get(set)
  if (earlier !== undefined) return earlier
  const classes = computeClasses(sets, set, known)
  known.set(set, classes)
  return classes
}

function computeClasses(sets: TextSets, set: TextSet, known: Map<TextSet, readonly CharSet[]>): readonly CharSet[] {
  switch (set.kind) {
    case 'NOTHING':
    case 'BLANK':
      return [anyChar]
    case 'CHARS':
      return [set.chars, invertChars(set.chars)].filter((chars) => chars.length > 0)
    case 'THEN':
      return set.first.hasBlank
        ? refine(sets, [charClassesOf(sets, set.first, known), charClassesOf(sets, set.rest, known)])
        : charClassesOf(sets, set.first, known)
    case 'REPEAT':
    case 'NOT':
      return charClassesOf(sets, set.item, known)
    case 'OR':
    case 'AND':
      return refine(
        sets,
        set.parts.map((part) => charClassesOf(sets, part, known)),
      )
  }
}

function refine(sets: TextSets, partitions: readonly (readonly CharSet[])[]): readonly CharSet[] {
  return partitions.reduce<readonly CharSet[]>(
    (all, partition) =>
      all.length === 1
        ? partition
        : partition.length === 1
          ? all
          : all.flatMap((one) =>
              partition
                .map((other) => {
                  sets.spend(one.length + other.length)
                  return intersectChars(one, other)
                })
                .filter(({ length }) => length > 0),
            ),
    [anyChar],
  )
}
