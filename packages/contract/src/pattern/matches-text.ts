import { derive } from './derive.ts'
import { matcherOf } from './match-pattern.ts'
import { type PatternSyntax, parsePattern } from './pattern-syntax.ts'
import { textsMatching } from './pattern-texts.ts'
import { type TextSet, TextSets } from './text-set.ts'

/** Shorter texts are matched by JavaScript, whatever the pattern is: a backtracking matcher tries some million ways at most. */
const shortText = 20
/** Steps that one text may take without backtracking. */
const mostWork = 1_000_000

/**
 * Tells whether a pattern matches a text; undefined where that is not known. A pattern such as `^(a+)+$` keeps a backtracking matcher
 * busy for years, so such patterns are matched by derivatives, one character after the other.
 */
export function matchesText(pattern: string, text: string): boolean | undefined {
  const matcher = matcherOf(pattern)
  if (matcher === undefined) return undefined
  return text.length <= shortText || !mayBacktrack(pattern) ? matcher.test(text) : matchByDerivatives(pattern, text)
}

const answers = new Map<string, boolean>()

/** Tells whether a pattern repeats something that repeats or chooses, so that a text can be split in many ways. */
export function mayBacktrack(pattern: string): boolean {
  const known = answers.get(pattern)
  if (known !== undefined) return known
  if (answers.size > 10_000) answers.clear()
  const syntax = parsePattern(pattern)
  const answer = syntax === undefined ? /\)[*+{]/.test(pattern) : repeatsChoices(syntax)
  answers.set(pattern, answer)
  return answer
}

function repeatsChoices(syntax: PatternSyntax): boolean {
  switch (syntax.kind) {
    case 'REPEAT':
      return (syntax.max > 1 && hasWays(syntax.item)) || repeatsChoices(syntax.item)
    case 'SEQUENCE':
    case 'CHOICE':
      return syntax.parts.some(repeatsChoices)
    case 'AHEAD':
      return repeatsChoices(syntax.item)
    case 'CHARS':
    case 'START':
    case 'END':
      return false
  }
}

function hasWays(syntax: PatternSyntax): boolean {
  switch (syntax.kind) {
    case 'REPEAT':
      return syntax.min !== syntax.max || hasWays(syntax.item)
    case 'CHOICE':
      return true
    case 'SEQUENCE':
      return syntax.parts.some(hasWays)
    case 'CHARS':
    case 'START':
    case 'END':
    case 'AHEAD':
      return false
  }
}

function matchByDerivatives(pattern: string, text: string): boolean | undefined {
  if (!text.isWellFormed()) return undefined
  const sets = new TextSets()
  return sets.within(mostWork, () => {
    let rest: TextSet | undefined = textsMatching(sets, pattern)
    for (const char of text) {
      if (rest === undefined) return undefined
      rest = derive(sets, rest, char.codePointAt(0) ?? 0)
    }
    return rest?.hasBlank
  })
}
