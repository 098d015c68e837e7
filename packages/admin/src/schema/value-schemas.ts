import { nearest } from '@waybill/core/option'
import { parseAge, parseInstant } from '../json/instant.ts'
import { type Schema, schemaOf } from './schema.ts'

/** A text without control characters. */
export function text(
  bounds: { readonly max?: number; readonly pattern?: RegExp; readonly called?: string } = {},
): Schema<string> {
  const { max = 1_000, pattern, called = `a text of 1 to ${max} characters` } = bounds
  return schemaOf({
    expects: called,
    json: {
      type: 'string',
      minLength: 1,
      maxLength: max,
      ...(pattern === undefined ? {} : { pattern: pattern.source }),
    },
    convert: (value) =>
      typeof value === 'string' &&
      value !== '' &&
      value.length <= max &&
      !hasControl(value) &&
      (pattern?.test(value) ?? true)
        ? value
        : undefined,
  })
}

/** A text of any characters, also an empty one. */
export function anyText(max: number): Schema<string> {
  return schemaOf({
    expects: `a text of at most ${max} characters`,
    json: { type: 'string', maxLength: max },
    convert: (value) => (typeof value === 'string' && value.length <= max ? value : undefined),
  })
}

/** A whole number. */
export function integer({
  min = 0,
  max = Number.MAX_SAFE_INTEGER,
}: {
  readonly min?: number
  readonly max?: number
} = {}): Schema<number> {
  return schemaOf({
    expects: `a whole number from ${min} to ${max}`,
    json: { type: 'integer', minimum: min, maximum: max },
    ofText: (given) => (/^-?\d{1,16}$/.test(given) ? Number(given) : given),
    convert: (value) =>
      Number.isSafeInteger(value) && Number(value) >= min && Number(value) <= max ? Number(value) : undefined,
  })
}

/** A number. */
export function number({ min, max }: { readonly min: number; readonly max: number }): Schema<number> {
  return schemaOf({
    expects: `a number from ${min} to ${max}`,
    json: { type: 'number', minimum: min, maximum: max },
    ofText: (given) => (/^-?\d{1,16}(?:\.\d{1,16})?$/.test(given) ? Number(given) : given),
    convert: (value) => (typeof value === 'number' && value >= min && value <= max ? value : undefined),
  })
}

/** A finite number of an answer. */
export const anyNumber: Schema<number> = schemaOf({
  expects: 'a number',
  json: { type: 'number' },
  convert: (value) => (typeof value === 'number' && Number.isFinite(value) ? value : undefined),
})

/** True or false. */
export const boolean: Schema<boolean> = schemaOf({
  expects: 'true or false',
  json: { type: 'boolean' },
  ofText: (given) => (given === 'true' ? true : given === 'false' ? false : given),
  convert: (value) => (typeof value === 'boolean' ? value : undefined),
})

/** One of a closed set of words. */
export function oneOf<const W extends string>(words: readonly W[]): Schema<W> {
  const known: readonly unknown[] = words
  const base = schemaOf<W>({
    expects: `one of ${words.join(', ')}`,
    json: { type: 'string', enum: words },
    convert: (value) => (known.includes(value) ? (value as W) : undefined),
  })
  return {
    ...base,
    read(value, path, report) {
      const meant = typeof value === 'string' && value.length < 100 ? nearest(value, words) : undefined
      return base.read(value, path, (at, problem) =>
        report(at, meant === undefined ? problem : `${problem}; did you mean ${meant}?`),
      )
    },
  }
}

/** A word of an answer. More words may come, so the document names the known ones as examples only. */
export function openWord(words: readonly string[]): Schema<string> {
  return schemaOf({
    expects: 'a text',
    json: { type: 'string', examples: words },
    convert: (value) => (typeof value === 'string' ? value : undefined),
  })
}

const longestOffset = 9_223_372_036_854_775_807n

/** A 64-bit number as decimal digits in a text. */
export const int64: Schema<bigint> = schemaOf({
  expects: 'a whole number in decimal digits, as a text',
  json: { type: 'string', pattern: '^\\d{1,19}$', examples: ['9007199254740993'] },
  convert(value) {
    if (typeof value !== 'string' || !/^\d{1,19}$/.test(value)) return undefined
    const result = BigInt(value)
    return result <= longestOffset ? result : undefined
  },
})

/** An instant: RFC 3339 in UTC in answers; epoch milliseconds are accepted too. */
export const instant: Schema<number> = schemaOf({
  expects: 'an instant such as 2026-11-16T06:00:00Z, or epoch milliseconds',
  json: { type: 'string', format: 'date-time' },
  convert(value) {
    if (typeof value === 'number') return Number.isSafeInteger(value) && value >= 0 ? value : undefined
    return typeof value === 'string' ? parseInstant(value) : undefined
  },
})

/** A duration such as P7D. Bare digits are refused: they could be an instant. */
export const age: Schema<number> = schemaOf({
  expects: 'an age such as P7D or PT12H',
  json: { type: 'string', format: 'duration', examples: ['P7D', 'PT12H'] },
  convert: (value) => (typeof value === 'string' ? parseAge(value) : undefined),
})

/** An instant, or how long ago: it is resolved once. */
export type Moment = { readonly atMs: number } | { readonly agoMs: number }

/** An instant, or an age before now. */
export const moment: Schema<Moment> = schemaOf<Moment>({
  expects: 'an instant such as 2026-11-16T06:00:00Z, or an age such as PT24H',
  json: { type: 'string', examples: ['2026-11-16T06:00:00Z', 'PT24H'] },
  convert(value) {
    if (typeof value !== 'string') return undefined
    const agoMs = parseAge(value)
    if (agoMs !== undefined) return { agoMs }
    const atMs = parseInstant(value)
    return atMs === undefined ? undefined : { atMs }
  },
})

/** Anything that JSON can hold. */
export const anyJson: Schema = {
  ...schemaOf<unknown>({ expects: 'any value', json: {}, convert: (value) => value }),
  read: (value) => value,
}

function hasControl(value: string): boolean {
  return /\p{Cc}/u.test(value)
}
