import { blank } from './tree.ts'

/** A string or template in a source file. */
export interface Literal {
  /** Offset of the opening quote. */
  readonly start: number
  /** The content of the literal. A template keeps its `${…}` as written. */
  readonly value: string
}

/**
 * A TypeScript file parsed just far enough for rules that read it as text. `code` and `comments` are as long as the
 * text and have its line breaks, so that an offset in one is an offset in all.
 */
export interface Source {
  readonly text: string
  /** The code: comments and the insides of strings, templates and regular expressions are blank. */
  readonly code: string
  /** Everything but comments is blank. */
  readonly comments: string
  readonly literals: ReadonlyMap<number, Literal>
}

const parsed = new Map<string, Source>()

/** Parses a file. Rules ask for the same files, so the result is cached. */
export function sourceOf(text: string): Source {
  const known = parsed.get(text)
  if (known !== undefined) return known
  const source = scan(text)
  parsed.set(text, source)
  return source
}

const token =
  /(?<comment>\/\/[^\n]*|\/\*[^]*?(?:\*\/|$)|^#![^\n]*)|(?<string>'(?:[^'\\\n]|\\[^])*'?|"(?:[^"\\\n]|\\[^])*"?)|(?<word>[\w$]+)|(?<space>\s+)|(?<sign>[^])/y

const templateChunk = /(?:[^`\\$]|\\[^]|\$(?!\{))*/y

const regularExpression = /\/(?![*/])(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/\w*/y

/** Words after which a slash starts a regular expression; after any other it divides. */
const operatorWords = new Set(
  'await case delete do else extends in instanceof new of return throw typeof void yield'.split(' '),
)

function scan(text: string): Source {
  const hidden: Range[] = []
  const comments: Range[] = []
  const literals = new Map<number, Literal>()
  // The owner of the innermost open brace: the start of a template for `${`, otherwise undefined.
  const braces: (number | undefined)[] = []
  let mayStartExpression = true
  let at = 0

  const readTemplate = (start: number): void => {
    const end = endOf(templateChunk, text, at)
    hidden.push([at, end])
    const isInterrupted = text[end] === '$'
    at = Math.min(text.length, end + (isInterrupted ? 2 : 1))
    if (isInterrupted) braces.push(start)
    else literals.set(start, { start, value: text.slice(start + 1, end) })
    mayStartExpression = isInterrupted
  }

  while (at < text.length) {
    if (text[at] === '/' && mayStartExpression) {
      const end = endOf(regularExpression, text, at)
      if (end > at) {
        hidden.push([at, end])
        at = end
        mayStartExpression = false
        continue
      }
    }
    token.lastIndex = at
    const match = token.exec(text) as RegExpExecArray
    const start = at
    at = token.lastIndex
    const { comment, string, word, sign } = match.groups as Record<string, string | undefined>
    if (comment !== undefined) {
      hidden.push([start, at])
      comments.push([start, at])
    } else if (string !== undefined) {
      const value = string.slice(1, string.length > 1 && string.endsWith(string.charAt(0)) ? -1 : undefined)
      hidden.push([start + 1, start + 1 + value.length])
      literals.set(start, { start, value: unescape(value) })
      mayStartExpression = false
    } else if (word !== undefined) {
      mayStartExpression = operatorWords.has(word)
    } else if (sign === '`') {
      readTemplate(start)
    } else if (sign === '{') {
      braces.push(undefined)
      mayStartExpression = true
    } else if (sign === '}') {
      const template = braces.pop()
      mayStartExpression = false
      if (template !== undefined) readTemplate(template)
    } else if (sign !== undefined) {
      mayStartExpression = sign !== ')' && sign !== ']'
    }
  }
  return {
    text,
    code: mapRanges(text, hidden, blank, asItIs),
    comments: mapRanges(text, comments, asItIs, blank),
    literals,
  }
}

type Range = readonly [start: number, end: number]

function endOf(pattern: RegExp, text: string, from: number): number {
  pattern.lastIndex = from
  return pattern.test(text) ? pattern.lastIndex : from
}

function unescape(value: string): string {
  return value.replaceAll(/\\([^])/g, (_, escaped: string) => ({ n: '\n', t: '\t' })[escaped] ?? escaped)
}

const asItIs = (part: string): string => part

/** Rewrites the parts of a text that lie inside and outside of some ranges. */
function mapRanges(
  text: string,
  ranges: readonly Range[],
  inside: (part: string) => string,
  outside: (part: string) => string,
): string {
  const parts: string[] = []
  let at = 0
  for (const [start, end] of ranges) {
    parts.push(outside(text.slice(at, start)), inside(text.slice(start, end)))
    at = end
  }
  parts.push(outside(text.slice(at)))
  return parts.join('')
}
