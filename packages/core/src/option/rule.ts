/**
 * The kinds of values options have. A rule says what it accepts and carries its default together with the reason for
 * it: the rules of an options object are its only table of defaults, for the code and for the reference page alike.
 */

import { describeThrown } from '../errors.ts'
import { nearest } from './nearest.ts'
import { isPlainObject, showValue } from './show-value.ts'

/** Takes violations; `path` is where in the options, `problem` what is wrong there and what would be right. */
export type Report = (path: string, problem: string) => void

/** How one option is read. Make one with the functions below. */
export interface Rule<T> {
  /** The expected value, for messages and the reference page: "an integer from 1 to 100". */
  readonly expects: string
  /** The value used when none is given. It is checked and frozen like a given one. */
  readonly fallback: T | undefined
  /** The option must be given. */
  readonly required: boolean
  /** Why the default is what it is. */
  readonly because: string | undefined
  /** The value must never be printed. */
  readonly isSecret?: boolean
  /** For options inside options: the rules of their keys. */
  readonly inner?: Rules
  /** For a list or a map: the rule that each of its values follows, and how the path goes on there. */
  readonly each?: { readonly step: '[]' | '.*'; readonly rule: Rule<unknown> }
  /** Whether the value is of this kind, not looking at what is inside it. */
  readonly accepts: (value: unknown) => boolean
  /** For a refused value: what was probably meant. */
  readonly meant?: (value: unknown) => string | undefined
  /** Reads what is inside an accepted value. Without it the value is taken as it is. */
  readonly inside?: (value: unknown, path: string, report: Report) => T
}

/** An options object: one rule for each key. */
export type Rules = { readonly [key: string]: Rule<unknown> }

/** The resolved options: everything present, nothing writable. */
export type Resolved<R extends Rules> = { readonly [K in keyof R]: R[K] extends Rule<infer T> ? T : never }

/** A default and the reason for it. Without it the option is required. */
export interface Fallback<T> {
  readonly default?: T
  readonly because?: string
}

interface Bounds {
  readonly min?: number
  readonly max?: number
  /** Exclusive lower bound, for "greater than 0". */
  readonly above?: number
}

function rule<T>(expects: string, options: Fallback<T>, accepts: (value: unknown) => boolean): Rule<T> {
  return {
    expects,
    fallback: options.default,
    required: !('default' in options),
    because: options.because,
    accepts,
  }
}

/** A finite number. */
export function number(options: Fallback<number> & Bounds = {}): Rule<number> {
  const inBounds = boundsOf(options)
  return rule(`a number${boundsText(options)}`, options, (value) => Number.isFinite(value) && inBounds(value as number))
}

/** A whole number that a double holds exactly. */
export function integer(options: Fallback<number> & Bounds = {}): Rule<number> {
  return wholeNumber('an integer', options, options)
}

/** A duration in whole milliseconds, zero allowed unless `min` or `above` says otherwise. */
export function durationMs(options: Fallback<number> & Bounds = {}): Rule<number> {
  return wholeNumber('whole milliseconds', options, { min: 0, ...options })
}

function wholeNumber(called: string, options: Fallback<number>, bounds: Bounds): Rule<number> {
  const inBounds = boundsOf(bounds)
  return rule(
    `${called}${boundsText(bounds)}`,
    options,
    (value) => Number.isSafeInteger(value) && inBounds(value as number),
  )
}

/** true or false. */
export function boolean(options: Fallback<boolean> = {}): Rule<boolean> {
  return rule('true or false', options, (value) => typeof value === 'boolean')
}

/** A text that is not empty and, where a pattern is given, matches it. `called` says in words what the pattern means. */
export function text(
  options: Fallback<string> & { readonly pattern?: RegExp; readonly called?: string } = {},
): Rule<string> {
  const { pattern, called } = options
  const expects = called ?? (pattern === undefined ? 'a text that is not empty' : `a text like ${pattern}`)
  // `search`, because `test` of a pattern with the flag g starts where the last one ended.
  const matches = (value: string): boolean => pattern === undefined || value.search(pattern) >= 0
  return rule(expects, options, (value) => typeof value === 'string' && value !== '' && matches(value))
}

/** A password, token or key: a text that no violation ever shows. */
export function secret(options: { readonly because?: string } = {}): Rule<string> {
  return { ...text(options), isSecret: true }
}

/** One of a closed set of words. */
export function oneOf<const W extends string>(words: readonly W[], options: Fallback<NoInfer<W>> = {}): Rule<W> {
  const known: readonly unknown[] = words
  return {
    ...rule<W>(`one of ${words.join(', ')}`, options, (value) => known.includes(value)),
    meant: (value) => (typeof value === 'string' ? nearest(value, words) : undefined),
  }
}

/** A value only the caller understands: a function, a port, a user's object. `accepts` checks what can be checked. */
export function instance<T>(called: string, accepts: (value: unknown) => boolean, options: Fallback<T> = {}): Rule<T> {
  return rule(called, options, accepts)
}

/** A function. */
export function func<T extends (...args: never[]) => unknown>(options: Fallback<T> = {}): Rule<T> {
  return instance('a function', (value) => typeof value === 'function', options)
}

/** A list whose every item follows `item`; `min` and `max` bound how many there are. */
export function list<T>(
  item: Rule<T>,
  options: Fallback<readonly T[]> & { readonly min?: number; readonly max?: number } = {},
): Rule<readonly T[]> {
  const hasRightSize = boundsOf(options)
  return {
    ...rule<readonly T[]>(
      `a list${sizeText(options)}, each ${item.expects}`,
      options,
      (value) => Array.isArray(value) && hasRightSize(value.length),
    ),
    each: { step: '[]', rule: item },
    inside: (value, path, report) =>
      Object.freeze(
        Array.from(value as readonly unknown[], (entry, at) => readValue(item, entry, `${path}[${at}]`, report)),
      ),
  }
}

/** An object with any keys whose every value follows `item`. */
export function mapOf<T>(
  item: Rule<T>,
  options: Fallback<Readonly<Record<string, T>>> = {},
): Rule<Readonly<Record<string, T>>> {
  return {
    ...rule<Readonly<Record<string, T>>>(`an object whose every value is ${item.expects}`, options, isPlainObject),
    each: { step: '.*', rule: item },
    inside: (value, path, report) => {
      // No prototype: a key such as `__proto__` or `constructor` is a key like any other.
      const result: Record<string, T> = Object.create(null)
      for (const [key, entry] of Object.entries(value as object))
        result[key] = readValue(item, entry, join(path, key), report)
      return Object.freeze(result)
    },
  }
}

/** Options inside options. Absent means all its defaults. */
export function nested<R extends Rules>(inner: R): Rule<Resolved<R>> {
  return {
    ...rule('an object', { default: {} as Resolved<R> }, isPlainObject),
    inner,
    inside: (value, path, report) => readKeys(inner, value as Record<string, unknown>, path, report),
  }
}

/** The option may be `false`, which turns it off. Without a default of its own it keeps that of `on`. */
export function orFalse<T>(on: Rule<T>, options: Fallback<T | false> = {}): Rule<T | false> {
  const { inside } = on
  return {
    ...on,
    ...('default' in options ? { fallback: options.default, required: false, because: options.because } : {}),
    expects: `${on.expects}, or false`,
    accepts: (value) => value === false || on.accepts(value),
    ...(inside === undefined
      ? {}
      : { inside: (value, path, report) => value !== false && inside(value, path, report) }),
  }
}

/** The option may be absent, and is then undefined. */
export function optional<T>(present: Rule<T>): Rule<T | undefined> {
  return { ...present, required: false, fallback: undefined }
}

/** Reads one value by its rule and reports what is wrong with it. After a report the result is not used. */
export function readValue<T>(entry: Rule<T>, given: unknown, path: string, report: Report): T {
  if (given === undefined && entry.required) report(path, `is required: ${entry.expects}`)
  const value = given === undefined ? entry.fallback : given
  if (value === undefined) return value as T
  try {
    if (entry.accepts(value)) return entry.inside === undefined ? (value as T) : entry.inside(value, path, report)
    const meant = entry.meant?.(value)
    report(
      path,
      `must be ${entry.expects}, got ${entry.isSecret ? 'something else' : showValue(value)}` +
        (meant === undefined ? '' : `; did you mean ${meant}?`),
    )
  } catch (error) {
    // A getter or proxy of the user's that throws, or a check of an instance that did not expect such a value.
    report(path, `must be ${entry.expects}, but cannot be read${entry.isSecret ? '' : `: ${describeThrown(error)}`}`)
  }
  return value as T
}

function readKeys<R extends Rules>(
  rules: R,
  given: Record<string, unknown>,
  path: string,
  report: Report,
): Resolved<R> {
  const known = Object.keys(rules)
  for (const key of Object.keys(given)) {
    if (Object.hasOwn(rules, key)) continue
    report(join(path, key), unknownOption(key, known))
  }
  const result: Record<string, unknown> = {}
  for (const [key, entry] of Object.entries(rules)) {
    // Own keys only: inherited properties are not options.
    const value = Object.hasOwn(given, key) ? given[key] : undefined
    result[key] = readValue(entry, value, join(path, key), report)
  }
  return Object.freeze(result) as Resolved<R>
}

/** A longer list is a page of a manual, not a part of a message. */
const mostListed = 20

/** Describes an unknown key. */
export function unknownOption(key: string, known: readonly string[]): string {
  const meant = nearest(key, known)
  if (meant !== undefined) return `is not an option; did you mean ${meant}?`
  return known.length > mostListed
    ? 'is not an option, and none is called like it'
    : `is not an option; known are ${known.join(', ')}`
}

function boundsOf({ min, max, above }: Bounds): (value: number) => boolean {
  return (value) =>
    (min === undefined || value >= min) && (max === undefined || value <= max) && (above === undefined || value > above)
}

function boundsText({ min, max, above }: Bounds): string {
  if (above !== undefined) return max === undefined ? ` above ${above}` : ` above ${above}, at most ${max}`
  if (min === undefined) return max === undefined ? '' : ` of at most ${max}`
  return max === undefined ? ` of ${min} or more` : ` from ${min} to ${max}`
}

function sizeText({ min, max }: Bounds): string {
  if (min === undefined) return max === undefined ? '' : ` of at most ${max}`
  return max === undefined ? ` of ${min} or more` : ` of ${min} to ${max}`
}

function join(path: string, key: string): string {
  if (!/^[A-Za-z_$][\w$]*$/.test(key)) return `${path}[${JSON.stringify(key)}]`
  return path === '' ? key : `${path}.${key}`
}
