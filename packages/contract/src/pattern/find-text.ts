import { type CharSet, pickChar } from './char-set.ts'
import { charClassesOf, derive } from './derive.ts'
import type { TextSet, TextSets } from './text-set.ts'

/** Most states that a search visits: enough for patterns of hundreds of characters, below a tenth of a second. */
const mostStates = 4_000

/** Returns shortest texts of a set, at most `count`; an empty list when it has none, undefined when the search is too large. */
export function findTexts(sets: TextSets, set: TextSet, count = 1): readonly string[] | undefined {
  const earlier = count === 1 ? sets.shortest.get(set) : undefined
  if (earlier !== undefined) return earlier
  const found = searchTexts(sets, set, count)
  if (count === 1 && found !== undefined) sets.shortest.set(set, found)
  return found
}

function searchTexts(sets: TextSets, set: TextSet, count: number): readonly string[] | undefined {
  const classes = new Map<TextSet, readonly CharSet[]>()
  const found: string[] = []
  const seen = new Set<TextSet>([set])
  let level: { readonly set: TextSet; readonly text: string }[] = [{ set, text: '' }]
  while (level.length > 0) {
    const next: typeof level = []
    for (const { set: current, text } of level) {
      if (current.hasBlank && found.push(text) >= count) return found
      for (const chars of charClassesOf(sets, current, classes)) {
        const char = pickChar(chars)
        const derived = derive(sets, current, char)
        if (derived === sets.nothing) continue
        // With more than one text to find, states may repeat: a bounded number of rounds then ends the search.
        if (count === 1 ? seen.has(derived) : text.length > 40) continue
        seen.add(derived)
        next.push({ set: derived, text: text + String.fromCodePoint(char) })
        if (seen.size > mostStates || next.length > mostStates) return found.length > 0 ? found : undefined
      }
    }
    level = next
  }
  return found
}
