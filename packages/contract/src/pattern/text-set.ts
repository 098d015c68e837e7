import { StateError } from '@waybill/core'
import { anyChar, type CharSet, charSet } from './char-set.ts'

/**
 * A set of texts as an extended regular expression. Equal expressions are one object, so that a search recognizes what it
 * has seen; intersections and complements are expressions, too.
 */
export type TextSet =
  | { readonly kind: 'NOTHING' | 'BLANK'; readonly id: number; readonly hasBlank: boolean }
  | { readonly kind: 'CHARS'; readonly id: number; readonly hasBlank: false; readonly chars: CharSet }
  | {
      readonly kind: 'THEN'
      readonly id: number
      readonly hasBlank: boolean
      readonly first: TextSet
      readonly rest: TextSet
    }
  | {
      readonly kind: 'REPEAT'
      readonly id: number
      readonly hasBlank: boolean
      readonly item: TextSet
      readonly min: number
      readonly max: number
    }
  | { readonly kind: 'OR' | 'AND'; readonly id: number; readonly hasBlank: boolean; readonly parts: readonly TextSet[] }
  | { readonly kind: 'NOT'; readonly id: number; readonly hasBlank: boolean; readonly item: TextSet }

/** Thrown inside {@link TextSets.within}, and caught there. */
const tooMuchWork = new StateError('The pattern takes too much work to compare.')

/** Makes text sets; those of one factory can be compared. */
export class TextSets {
  /** Shortest texts of sets that were searched before. */
  readonly shortest: Map<TextSet, readonly string[]> = new Map()
  /** Keys of searches without an answer. */
  readonly undecided: Set<string> = new Set()
  #work = 0
  #mostWork = Number.POSITIVE_INFINITY
  readonly #known = new Map<string, TextSet>()
  readonly nothing: TextSet = this.#once('NOTHING', (id) => ({ kind: 'NOTHING', id, hasBlank: false }))
  readonly blank: TextSet = this.#once('BLANK', (id) => ({ kind: 'BLANK', id, hasBlank: true }))
  /** All texts. */
  readonly any: TextSet = this.#once(`NOT ${this.nothing.id}`, (id) => ({
    kind: 'NOT',
    id,
    hasBlank: true,
    item: this.nothing,
  }))

  /** Steps of all computations so far. */
  get work(): number {
    return this.#work
  }

  /** Runs a computation; undefined if it takes more than a number of steps. */
  within<T>(mostSteps: number, compute: () => T): T | undefined {
    this.#mostWork = this.#work + mostSteps
    try {
      return compute()
    } catch (error) {
      if (error === tooMuchWork) return undefined
      throw error
    } finally {
      this.#mostWork = Number.POSITIVE_INFINITY
    }
  }

  /** Counts steps of the computation that runs. */
  spend(steps: number): void {
    this.#work += steps
    if (this.#work > this.#mostWork) throw tooMuchWork
  }

  chars(chars: CharSet): TextSet {
    this.spend(chars.length)
    if (chars.length === 0) return this.nothing
    return this.#once(`CHARS ${JSON.stringify(chars)}`, (id) => ({ kind: 'CHARS', id, hasBlank: false, chars }))
  }

  char(): TextSet {
    return this.chars(anyChar)
  }

  andThen(first: TextSet, rest: TextSet): TextSet {
    if (first === this.nothing || rest === this.nothing) return this.nothing
    if (first === this.blank) return rest
    if (rest === this.blank) return first
    if (first === this.any && rest === this.any) return this.any
    if (first.kind === 'THEN') return this.andThen(first.first, this.andThen(first.rest, rest))
    return this.#once(`THEN ${first.id} ${rest.id}`, (id) => ({
      kind: 'THEN',
      id,
      hasBlank: first.hasBlank && rest.hasBlank,
      first,
      rest,
    }))
  }

  repeat(item: TextSet, min: number, max: number): TextSet {
    if (max <= 0 || item === this.blank) return this.blank
    if (item === this.nothing) return min === 0 ? this.blank : this.nothing
    if (min === 1 && max === 1) return item
    if (item === this.any) return this.any
    if (item === this.char() && min === 0 && max === Number.POSITIVE_INFINITY) return this.any
    return this.#once(`REPEAT ${item.id} ${min} ${max}`, (id) => ({
      kind: 'REPEAT',
      id,
      hasBlank: min === 0 || item.hasBlank,
      item,
      min,
      max,
    }))
  }

  not(item: TextSet): TextSet {
    if (item.kind === 'NOT') return item.item
    return this.#once(`NOT ${item.id}`, (id) => ({ kind: 'NOT', id, hasBlank: !item.hasBlank, item }))
  }

  or(parts: readonly TextSet[]): TextSet {
    const flat = this.#flatten('OR', parts).filter((part) => part !== this.nothing)
    if (flat.includes(this.any)) return this.any
    const single = flat.flatMap((part) => (part.kind === 'CHARS' ? part.chars : []))
    const others = flat.filter((part) => part.kind !== 'CHARS')
    return this.#join('OR', single.length === 0 ? others : [...others, this.chars(charSet(single))], this.nothing)
  }

  and(parts: readonly TextSet[]): TextSet {
    const flat = this.#flatten('AND', parts).filter((part) => part !== this.any)
    if (flat.includes(this.nothing)) return this.nothing
    if (flat.includes(this.blank)) return flat.every(({ hasBlank }) => hasBlank) ? this.blank : this.nothing
    return this.#join('AND', flat, this.any)
  }

  #flatten(kind: 'OR' | 'AND', parts: readonly TextSet[]): TextSet[] {
    return parts.flatMap((part) => (part.kind === kind ? part.parts : [part]))
  }

  #join(kind: 'OR' | 'AND', parts: readonly TextSet[], none: TextSet): TextSet {
    this.spend(parts.length)
    const unique = [...new Set(parts)].toSorted((one, other) => one.id - other.id)
    const [first] = unique
    if (first === undefined) return none
    if (unique.length === 1) return first
    // A part and its complement.
    const all = new Set(unique)
    if (unique.some((part) => part.kind === 'NOT' && all.has(part.item))) return kind === 'OR' ? this.any : this.nothing
    return this.#once(`${kind} ${unique.map(({ id }) => id).join(' ')}`, (id) => ({
      kind,
      id,
      hasBlank: kind === 'OR' ? unique.some((part) => part.hasBlank) : unique.every((part) => part.hasBlank),
      parts: unique,
    }))
  }

  #once(key: string, create: (id: number) => TextSet): TextSet {
    this.spend(1)
    const known = this.#known.get(key)
    if (known !== undefined) return known
    const created = create(this.#known.size)
    this.#known.set(key, created)
    return created
  }
}
