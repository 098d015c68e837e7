import { type PatternSyntax, parsePattern } from './pattern-syntax.ts'
import type { TextSet, TextSets } from './text-set.ts'

/** The place of the next character: at the start of the text, behind it, or unknown. */
type Place = 'START' | 'INSIDE' | 'EITHER'

/** Returns the texts that a pattern matches anywhere; undefined for a pattern that no set of texts can express. */
export function textsMatching(sets: TextSets, pattern: string): TextSet | undefined {
  const syntax = parsePattern(pattern)
  if (syntax === undefined) return undefined
  const builder = new TextSetBuilder(sets)
  const texts = sets.or([
    builder.build(syntax, sets.any, 'START'),
    sets.andThen(sets.andThen(sets.char(), sets.any), builder.build(syntax, sets.any, 'INSIDE')),
  ])
  return builder.isExpressible ? texts : undefined
}

class TextSetBuilder {
  isExpressible = true
  readonly #sets: TextSets

  constructor(sets: TextSets) {
    this.#sets = sets
  }

  /** Returns the texts that match `syntax` and continue with a text of `rest`: assertions look into the rest. */
  build(syntax: PatternSyntax, rest: TextSet, place: Place): TextSet {
    const sets = this.#sets
    switch (syntax.kind) {
      case 'CHARS':
        return sets.andThen(sets.chars(syntax.chars), rest)
      case 'CHOICE':
        return sets.or(syntax.parts.map((part) => this.build(part, rest, place)))
      case 'SEQUENCE': {
        const places = placesOf(syntax.parts, place)
        return syntax.parts.reduceRight(
          (behind, part, index) => this.build(part, behind, places[index] ?? 'EITHER'),
          rest,
        )
      }
      case 'REPEAT':
        return this.#repeat(syntax, rest, place)
      case 'START':
        if (place === 'EITHER') this.isExpressible = false
        return place === 'START' ? rest : sets.nothing
      case 'END':
        return sets.and([sets.blank, rest])
      case 'AHEAD': {
        const ahead = this.build(syntax.item, sets.any, place)
        return sets.and([syntax.isNegative ? sets.not(ahead) : ahead, rest])
      }
    }
  }

  #repeat({ item, min, max }: Extract<PatternSyntax, { kind: 'REPEAT' }>, rest: TextSet, place: Place): TextSet {
    const sets = this.#sets
    if (!asserts(item)) return sets.andThen(sets.repeat(this.build(item, sets.blank, 'INSIDE'), min, max), rest)
    if (min === 0 && max === 1) return sets.or([this.build(item, rest, place), rest])
    if (min !== 1 || max !== 1) this.isExpressible = false
    return this.build(item, rest, place)
  }
}

function placesOf(parts: readonly PatternSyntax[], start: Place): Place[] {
  let place = start
  return parts.map((part) => {
    const here = place
    const widths = widthOf(part)
    if (widths === 'SOME') place = 'INSIDE'
    else if (widths === 'ANY' && place === 'START') place = 'EITHER'
    return here
  })
}

/** Tells whether a part matches no character, at least one, or either. */
function widthOf(syntax: PatternSyntax): 'NONE' | 'SOME' | 'ANY' {
  switch (syntax.kind) {
    case 'CHARS':
      return 'SOME'
    case 'START':
    case 'END':
    case 'AHEAD':
      return 'NONE'
    case 'REPEAT': {
      if (syntax.max === 0) return 'NONE'
      const item = widthOf(syntax.item)
      return syntax.min === 0 && item === 'SOME' ? 'ANY' : item
    }
    case 'SEQUENCE': {
      const widths = syntax.parts.map(widthOf)
      return widths.includes('SOME') ? 'SOME' : widths.includes('ANY') ? 'ANY' : 'NONE'
    }
    case 'CHOICE': {
      const [first = 'NONE', ...others] = syntax.parts.map(widthOf)
      return others.every((width) => width === first) ? first : 'ANY'
    }
  }
}

function asserts(syntax: PatternSyntax): boolean {
  switch (syntax.kind) {
    case 'CHARS':
      return false
    case 'START':
    case 'END':
    case 'AHEAD':
      return true
    case 'REPEAT':
      return asserts(syntax.item)
    case 'SEQUENCE':
    case 'CHOICE':
      return syntax.parts.some(asserts)
  }
}
