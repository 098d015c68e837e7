import { type CharSet, charSet, intersectChars, invertChars } from './char-set.ts'
import { matcherOf } from './match-pattern.ts'

/** The syntax tree of a pattern. */
export type PatternSyntax =
  | { readonly kind: 'CHARS'; readonly chars: CharSet }
  | { readonly kind: 'SEQUENCE' | 'CHOICE'; readonly parts: readonly PatternSyntax[] }
  | { readonly kind: 'REPEAT'; readonly item: PatternSyntax; readonly min: number; readonly max: number }
  | { readonly kind: 'START' | 'END' }
  | { readonly kind: 'AHEAD'; readonly item: PatternSyntax; readonly isNegative: boolean }

/** Longer patterns, and deeper groups, are not read: each part is a level of the functions that compare it. */
const longestPattern = 4_000
const deepestGroup = 100

/**
 * Parses a pattern as JavaScript does with the flag `u`. Undefined for what a set of texts cannot express or is not read here:
 * back references, word boundaries, look-behind.
 */
export function parsePattern(pattern: string): PatternSyntax | undefined {
  if (pattern.length > longestPattern || matcherOf(pattern) === undefined) return undefined
  const parser = new PatternParser(pattern)
  const parsed = parser.choice()
  return parser.isDone ? parsed : undefined
}

const digits = charSet([[0x30, 0x39]])
const word = charSet([
  [0x30, 0x39],
  [0x41, 0x5a],
  [0x5f, 0x5f],
  [0x61, 0x7a],
])
const space = charSet([
  [0x09, 0x0d],
  [0x20, 0x20],
  [0xa0, 0xa0],
  [0x1680, 0x1680],
  [0x2000, 0x200a],
  [0x2028, 0x2029],
  [0x202f, 0x202f],
  [0x205f, 0x205f],
  [0x3000, 0x3000],
  [0xfeff, 0xfeff],
])
const lineEnds = charSet([
  [0x0a, 0x0a],
  [0x0d, 0x0d],
  [0x2028, 0x2029],
])
const classes: Readonly<Record<string, CharSet>> = {
  d: digits,
  D: invertChars(digits),
  w: word,
  W: invertChars(word),
  s: space,
  S: invertChars(space),
}
const controls: Readonly<Record<string, number>> = { t: 9, n: 10, v: 11, f: 12, r: 13, 0: 0 }

class PatternParser {
  readonly #chars: readonly string[]
  #at = 0
  #groups = 0
  #isUnknown = false

  constructor(pattern: string) {
    this.#chars = Array.from(pattern)
  }

  get isDone(): boolean {
    return this.#at === this.#chars.length && !this.#isUnknown
  }

  choice(): PatternSyntax {
    const parts = [this.#sequence()]
    while (this.#take('|')) parts.push(this.#sequence())
    return parts.length === 1 && parts[0] !== undefined ? parts[0] : { kind: 'CHOICE', parts }
  }

  #sequence(): PatternSyntax {
    const parts: PatternSyntax[] = []
    while (
      this.#at < this.#chars.length &&
      !this.#isUnknown &&
      this.#chars[this.#at] !== '|' &&
      this.#chars[this.#at] !== ')'
    )
      parts.push(this.#repeated(this.#atom()))
    return { kind: 'SEQUENCE', parts }
  }

  #repeated(item: PatternSyntax): PatternSyntax {
    const char = this.#chars[this.#at]
    let bounds: readonly [number, number] | undefined
    if (char === '*') bounds = [0, Number.POSITIVE_INFINITY]
    else if (char === '+') bounds = [1, Number.POSITIVE_INFINITY]
    else if (char === '?') bounds = [0, 1]
    if (bounds !== undefined) this.#at += 1
    else if (char === '{') bounds = this.#bounds()
    if (bounds === undefined) return item
    this.#take('?') // Lazy repetition matches the same texts.
    return { kind: 'REPEAT', item, min: bounds[0], max: bounds[1] }
  }

  #bounds(): readonly [number, number] | undefined {
    const match = /^\{(\d+)(?:(,)(\d*))?\}/.exec(this.#chars.slice(this.#at).join(''))
    if (match === null) return undefined
    this.#at += match[0].length
    const min = Number(match[1])
    return [min, match[2] === undefined ? min : match[3] === '' ? Number.POSITIVE_INFINITY : Number(match[3])]
  }

  #atom(): PatternSyntax {
    const char = this.#chars[this.#at] ?? ''
    this.#at += 1
    if (char === '^') return { kind: 'START' }
    if (char === '$') return { kind: 'END' }
    if (char === '.') return { kind: 'CHARS', chars: invertChars(lineEnds) }
    if (char === '[') return { kind: 'CHARS', chars: this.#set() }
    if (char === '(') return this.#group()
    if (char === '\\') return { kind: 'CHARS', chars: this.#escape() }
    return { kind: 'CHARS', chars: one(char) }
  }

  #group(): PatternSyntax {
    const rest = this.#chars.slice(this.#at, this.#at + 3).join('')
    let ahead: 'AHEAD' | 'NOT_AHEAD' | undefined
    if (rest.startsWith('?:')) this.#at += 2
    else if (rest.startsWith('?=') || rest.startsWith('?!')) {
      ahead = rest.startsWith('?=') ? 'AHEAD' : 'NOT_AHEAD'
      this.#at += 2
    } else if (rest.startsWith('?<=') || rest.startsWith('?<!')) this.#isUnknown = true
    else if (rest.startsWith('?<')) this.#at = this.#chars.indexOf('>', this.#at) + 1
    else if (rest.startsWith('?')) this.#isUnknown = true
    this.#groups += 1
    if (this.#groups > deepestGroup) this.#isUnknown = true
    const item = this.choice()
    this.#groups -= 1
    if (!this.#take(')')) this.#isUnknown = true
    return ahead === undefined ? item : { kind: 'AHEAD', item, isNegative: ahead === 'NOT_AHEAD' }
  }

  #set(): CharSet {
    const isInverted = this.#take('^')
    const ranges: (readonly [number, number])[] = []
    while (this.#at < this.#chars.length && !this.#take(']')) {
      const low = this.#member()
      if (this.#chars[this.#at] !== '-' || this.#chars[this.#at + 1] === ']') {
        ranges.push(...low)
        continue
      }
      this.#at += 1
      const high = this.#member()
      ranges.push([low[0]?.[0] ?? 0, high[0]?.[0] ?? 0])
    }
    return isInverted ? invertChars(charSet(ranges)) : charSet(ranges)
  }

  #member(): CharSet {
    const char = this.#chars[this.#at] ?? ''
    this.#at += 1
    return char === '\\' ? this.#escape(true) : one(char)
  }

  #escape(isInSet = false): CharSet {
    const char = this.#chars[this.#at] ?? ''
    this.#at += 1
    const named = classes[char]
    if (named !== undefined) return named
    if (char === 'p' || char === 'P') return this.#property(char)
    if (char === 'x') return this.#code(/^[\da-f]{2}/i)
    if (char === 'u') return this.#code(/^(?:[\da-f]{4}|\{[\da-f]+\})/i)
    if (char === 'c') return one(String.fromCodePoint((this.#next().codePointAt(0) ?? 0) % 32))
    if (char === 'b' && isInSet) return one('\b')
    const control = controls[char]
    if (control !== undefined) return one(String.fromCodePoint(control))
    if (/[\dbBk]/.test(char)) this.#isUnknown = true
    return one(char)
  }

  #code(pattern: RegExp): CharSet {
    const [digitsFound = ''] = pattern.exec(this.#chars.slice(this.#at).join('')) ?? []
    this.#at += digitsFound.length
    const code = Number.parseInt(digitsFound.replaceAll(/[{}]/g, ''), 16)
    // A surrogate pair spelled as two escapes is one character; halves alone match no well-formed text.
    const low = /^\\u([\da-f]{4})/i.exec(this.#chars.slice(this.#at).join(''))
    if (code >= 0xd800 && code < 0xdc00 && low !== null) {
      this.#at += low[0].length
      return one(String.fromCharCode(code, Number.parseInt(low[1] ?? '', 16)))
    }
    return intersectChars([[code, code]], charSet([[0, 0x10ffff]]))
  }

  #property(kind: string): CharSet {
    const [name = ''] = /^\{[^}]*\}/.exec(this.#chars.slice(this.#at).join('')) ?? []
    this.#at += name.length
    return propertyChars(`\\${kind}${name}`)
  }

  #next(): string {
    this.#at += 1
    return this.#chars[this.#at - 1] ?? ''
  }

  #take(char: string): boolean {
    if (this.#chars[this.#at] !== char) return false
    this.#at += 1
    return true
  }
}

function one(char: string): CharSet {
  const code = char.codePointAt(0) ?? 0
  return charSet([[code, code]])
}

const properties = new Map<string, CharSet>()

/** The engine itself knows the properties of characters; asking it for all of them takes some 30 ms. */
function propertyChars(source: string): CharSet {
  const known = properties.get(source)
  if (known !== undefined) return known
  const matcher = new RegExp(source, 'u')
  const ranges: [number, number][] = []
  for (let code = 0; code <= 0x10ffff; code += 1) {
    if (!matcher.test(String.fromCodePoint(code))) continue
    const last = ranges.at(-1)
    if (last?.[1] === code - 1) last[1] = code
    else ranges.push([code, code])
  }
  const found = charSet(ranges)
  properties.set(source, found)
  return found
}
