/**
 * Parses the source of a regular expression that V8 has accepted, as far as it can be matched in linear time. What cannot
 * be, such as a backreference, is refused with the reason.
 */

import { ArgumentError } from '@waybill/core'

/** A part of an expression. */
export type PatternNode =
  | { readonly type: 'CHAR'; readonly matches: (code: number) => boolean }
  | { readonly type: 'EDGE'; readonly holds: (text: string, at: number) => boolean }
  | { readonly type: 'LOOK'; readonly isAhead: boolean; readonly isNegated: boolean; readonly body: PatternNode }
  | { readonly type: 'SEQUENCE'; readonly items: readonly PatternNode[] }
  | { readonly type: 'CHOICE'; readonly items: readonly PatternNode[] }
  | { readonly type: 'REPEAT'; readonly body: PatternNode; readonly min: number; readonly max: number }

type Matches = (code: number) => boolean

/** Deeper nesting than this length allows would exhaust the stack. */
const maxLength = 1_000

/** @throws ArgumentError with the reason, as the predicate of a sentence */
export function parsePattern({ source, flags, ignoreCase }: RegExp): PatternNode {
  if (source.length > maxLength) throw new ArgumentError(`is longer than ${maxLength} characters`)
  if (flags.includes('v')) throw new ArgumentError('has the flag v')
  return new PatternParser(source, ignoreCase).parse()
}

const isDigit: Matches = (code) => code >= 48 && code <= 57
const isLetter: Matches = (code) => (code >= 65 && code <= 90) || (code >= 97 && code <= 122)
const isWord: Matches = (code) => isDigit(code) || isLetter(code) || code === 95
const isSpace: Matches = (code) => /\s/.test(String.fromCharCode(code))
const isLineEnd: Matches = (code) => code === 10 || code === 13 || code === 0x2028 || code === 0x2029

const not =
  (matches: Matches): Matches =>
  (code) =>
    !matches(code)

const classes: Readonly<Record<string, Matches>> = {
  d: isDigit,
  D: not(isDigit),
  w: isWord,
  W: not(isWord),
  s: isSpace,
  S: not(isSpace),
}

const controls: Readonly<Record<string, number>> = { t: 9, n: 10, v: 11, f: 12, r: 13, 0: 0 }

const groups = [
  ['(?=', { isAhead: true, isNegated: false }],
  ['(?!', { isAhead: true, isNegated: true }],
  ['(?<=', { isAhead: false, isNegated: false }],
  ['(?<!', { isAhead: false, isNegated: true }],
] as const

/** V8 has checked the syntax, so every bracket is closed and every quantifier has something to repeat. */
class PatternParser {
  readonly #source: string
  readonly #ignoreCase: boolean
  #at = 0

  constructor(source: string, ignoreCase: boolean) {
    this.#source = source
    this.#ignoreCase = ignoreCase
  }

  parse(): PatternNode {
    const items = [this.#sequence()]
    while (this.#take('|')) items.push(this.#sequence())
    return items.length === 1 ? (items[0] as PatternNode) : { type: 'CHOICE', items }
  }

  #sequence(): PatternNode {
    const items: PatternNode[] = []
    while (this.#at < this.#source.length && !'|)'.includes(this.#peek())) items.push(this.#quantified(this.#term()))
    return { type: 'SEQUENCE', items }
  }

  #quantified(body: PatternNode): PatternNode {
    const quantifier = this.#takeMatch(/[*+?]|\{(?<min>\d+)(?<range>,(?<max>\d*))?\}/y)
    if (quantifier === undefined) return body
    this.#take('?') // Lazy or greedy: both match the same texts.
    const { min, range, max } = quantifier.groups ?? {}
    if (min === undefined)
      return { type: 'REPEAT', body, min: quantifier[0] === '+' ? 1 : 0, max: quantifier[0] === '?' ? 1 : Infinity }
    if (range === undefined) return { type: 'REPEAT', body, min: Number(min), max: Number(min) }
    return { type: 'REPEAT', body, min: Number(min), max: max === '' ? Infinity : Number(max) }
  }

  #term(): PatternNode {
    const char = this.#peek()
    if (char === '(') return this.#group()
    if (char === '[') return this.#class()
    if (char === '\\') return this.#escape()
    this.#at++
    if (char === '^') return { type: 'EDGE', holds: (_, at) => at === 0 }
    if (char === '$') return { type: 'EDGE', holds: (text, at) => at === text.length }
    return char === '.' ? this.#char(not(isLineEnd)) : this.#char(same(char))
  }

  #group(): PatternNode {
    const look = groups.find(([opening]) => this.#take(opening))
    const isPlain = look !== undefined || this.#takeMatch(/\((?:\?:|\?<[^>=!]+>|(?!\?))/y) !== undefined
    if (!isPlain) throw new ArgumentError(`has a modifier, ${this.#source.slice(this.#at, this.#at + 4)}`)
    const body = this.parse()
    this.#take(')')
    return look === undefined ? body : { type: 'LOOK', ...look[1], body }
  }

  #escape(): PatternNode {
    if (this.#take('\\b')) return { type: 'EDGE', holds: isWordEdge }
    if (this.#take('\\B')) return { type: 'EDGE', holds: (text, at) => !isWordEdge(text, at) }
    const reference = this.#takeMatch(/\\(?:[1-9]|k<[^>]*>)/y)
    if (reference !== undefined) throw new ArgumentError(`has a backreference, ${reference[0]}`)
    return this.#char(this.#escaped())
  }

  #class(): PatternNode {
    this.#take('[')
    const isNegated = this.#take('^')
    const parts: Matches[] = []
    while (!this.#take(']')) parts.push(this.#classPart())
    const matches: Matches = this.#folded((code) => parts.some((part) => part(code)))
    return { type: 'CHAR', matches: isNegated ? not(matches) : matches }
  }

  #classPart(): Matches {
    const from = this.#classAtom()
    if (typeof from !== 'number') return from
    if (this.#peek() !== '-' || this.#source[this.#at + 1] === ']') return (code) => code === from
    this.#at++
    const to = this.#classAtom()
    if (typeof to !== 'number') return (code) => code === from || code === 45 || to(code)
    return (code) => code >= from && code <= to
  }

  #classAtom(): number | Matches {
    if (this.#take('\\b')) return 8
    if (this.#peek() !== '\\') return this.#source.charCodeAt(this.#at++)
    return this.#escapedAtom()
  }

  #escaped(): Matches {
    const atom = this.#escapedAtom()
    return typeof atom === 'number' ? (code) => code === atom : atom
  }

  /** Returns the character or the class after a backslash. */
  #escapedAtom(): number | Matches {
    this.#take('\\')
    const property = this.#takeMatch(/[pP]\{[^}]*\}/y)
    if (property !== undefined) throw new ArgumentError(`has a Unicode property, \\${property[0]}`)
    const hex = this.#takeMatch(/x([\da-fA-F]{2})|u([\da-fA-F]{4})|u\{([\da-fA-F]+)\}/y)
    if (hex !== undefined) return Number.parseInt(hex[1] ?? hex[2] ?? (hex[3] as string), 16)
    const control = this.#takeMatch(/c([A-Za-z])/y)
    if (control !== undefined) return (control[1] as string).charCodeAt(0) % 32
    const char = this.#source[this.#at++] as string
    return classes[char] ?? controls[char] ?? char.charCodeAt(0)
  }

  #char(matches: Matches): PatternNode {
    return { type: 'CHAR', matches: this.#folded(matches) }
  }

  /** Topic names are ASCII, so letters have one other case. */
  #folded(matches: Matches): Matches {
    return this.#ignoreCase ? (code) => matches(code) || (isLetter(code) && matches(code ^ 32)) : matches
  }

  #peek(): string {
    return this.#source[this.#at] ?? ''
  }

  #take(text: string): boolean {
    if (!this.#source.startsWith(text, this.#at)) return false
    this.#at += text.length
    return true
  }

  #takeMatch(sticky: RegExp): RegExpExecArray | undefined {
    sticky.lastIndex = this.#at
    const match = sticky.exec(this.#source)
    if (match === null) return undefined
    this.#at = sticky.lastIndex
    return match
  }
}

function same(char: string): Matches {
  const wanted = char.charCodeAt(0)
  return (code) => code === wanted
}

function isWordEdge(text: string, at: number): boolean {
  return isWord(text.charCodeAt(at - 1)) !== isWord(text.charCodeAt(at))
}
