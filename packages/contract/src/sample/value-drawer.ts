import { StateError } from '@waybill/core'
import { lengthSet } from '../contain/find-text-value.ts'
import { findTexts } from '../pattern/find-text.ts'
import { textsMatching } from '../pattern/pattern-texts.ts'
import { TextSets } from '../pattern/text-set.ts'
import type { JsonType, JsonValue } from '../schema/json.ts'
import type { SchemaNode } from '../schema/schema-node.ts'
import { timesDecimal } from '../validate/decimal.ts'
import { formatTexts } from '../validate/format-texts.ts'
import { memberNodesOf } from '../validate/member-schemas.ts'

/** A source of chance: numbers from 0 up to 1. */
export type Chance = () => number

/** The kind of values to draw. */
export interface DrawOptions {
  /** Also draws members that no schema declares, and values that do not fit. */
  readonly stray: boolean
}

const mostDepth = 7
/** Values inside one value: behind them it gets no optional members and no more items. */
const mostValues = 2_000
/** Texts of at least this length are searched one by one. */
const longestOfSeveral = 30
/** Longer texts tell no more. */
const longestDrawn = 300
/** Steps of a search for texts of a pattern. */
const mostPatternWork = 400_000

/**
 * Draws values near what schemas accept: bounds, listed values, optional members present and absent. Most fit, some do not;
 * the caller checks.
 */
export class ValueDrawer {
  readonly #chance: Chance
  readonly #isStray: boolean
  readonly #sets = new TextSets()
  readonly #texts = new Map<string, readonly string[]>()
  #drawn = 0

  constructor(chance: Chance, { stray }: DrawOptions) {
    this.#chance = chance
    this.#isStray = stray
  }

  /** Draws a value for schemas that all have to accept it. `fill` is the share of optional members. */
  draw(nodes: readonly SchemaNode[], depth = 0, fill?: number): JsonValue {
    this.#drawn = depth === 0 ? 1 : this.#drawn + 1
    const hints = this.#unfold(nodes)
    for (const { enum: listed, default: usual } of hints) {
      if (listed !== undefined && listed.length > 0) return this.pick(listed)
      if (usual !== undefined && this.#chance() < 0.1) return usual
    }
    const type = this.#typeOf(hints)
    if (type === 'object') return this.#object(hints, depth, fill)
    if (type === 'array') return this.#array(hints, depth, fill)
    if (type === 'string') return this.#text(hints)
    if (type === 'number') return this.#number(hints)
    return type === 'boolean' ? this.#chance() < 0.5 : null
  }

  /** Picks one of several. */
  pick<T>(from: readonly T[]): T {
    const found = from[Math.floor(this.#chance() * from.length)]
    if (found === undefined) throw new StateError('There is nothing to pick from.')
    return found
  }

  #isDone(depth: number): boolean {
    return depth >= mostDepth || this.#drawn > mostValues
  }

  /** Schemas that hold in the same place, with one branch of each union. */
  #unfold(nodes: readonly SchemaNode[]): readonly SchemaNode[] {
    const found = new Set<SchemaNode>()
    const queue = [...nodes]
    for (let node = queue.pop(); node !== undefined; node = queue.pop()) {
      if (found.has(node)) continue
      found.add(node)
      if (node.ref !== undefined) queue.push(node.ref)
      queue.push(...(node.allOf ?? []))
      for (const branches of [node.anyOf, node.oneOf])
        if (branches !== undefined && branches.length > 0) queue.push(this.pick(branches))
      if (node.if !== undefined) {
        const { node: condition, whenTrue: then, whenFalse: otherwise } = node.if
        if (this.#chance() < 0.5) queue.push(condition, ...(then === undefined ? [] : [then]))
        else if (otherwise !== undefined) queue.push(otherwise)
      }
      for (const [, inner] of node.dependentSchemas ?? []) if (this.#chance() < 0.5) queue.push(inner)
    }
    return [...found]
  }

  #typeOf(hints: readonly SchemaNode[]): JsonType {
    const listed = hints.flatMap(({ types }) => (types === undefined ? [] : [[...types]]))
    const [first] = listed
    const shared = first?.filter((type) =>
      listed.every((each) => each.includes(type) || (type === 'integer' && each.includes('number'))),
    )
    const type = this.pick(shared === undefined || shared.length === 0 ? (first ?? this.#implied(hints)) : shared)
    return type === 'integer' ? 'number' : type
  }

  #implied(hints: readonly SchemaNode[]): JsonType[] {
    if (this.#isStray && this.#chance() < 0.15) return ['null', 'boolean', 'number', 'string', 'array', 'object']
    const implied = hints.flatMap((node): JsonType[] => [
      ...((node.properties ??
      node.required ??
      node.additionalProperties ??
      node.minProperties ??
      node.patternProperties ??
      node.dependentRequired ??
      node.maxProperties ??
      node.propertyNames)
        ? (['object'] as const)
        : []),
      ...((node.items ?? node.prefixItems ?? node.contains ?? node.minItems ?? node.maxItems ?? node.uniqueItems)
        ? (['array'] as const)
        : []),
      ...((node.pattern ?? node.minLength ?? node.maxLength ?? node.format) ? (['string'] as const) : []),
      ...((node.minimum ?? node.maximum ?? node.multipleOf ?? node.exclusiveMinimum ?? node.exclusiveMaximum) ===
      undefined
        ? []
        : (['number'] as const)),
    ])
    return implied.length === 0 ? ['string', 'number', 'object', 'null', 'boolean', 'array'] : implied
  }

  #object(hints: readonly SchemaNode[], depth: number, fill?: number): JsonValue {
    const required = new Set(hints.flatMap((node) => node.required ?? []))
    const declared = new Set(hints.flatMap((node) => [...(node.properties?.keys() ?? [])]))
    const usual = fill ?? this.#chance()
    const names = new Set(required)
    for (const name of declared) if (!this.#isDone(depth) && this.#chance() < usual) names.add(name)
    for (const { patternProperties = [], propertyNames, additionalProperties } of hints) {
      for (const [pattern] of patternProperties)
        if (this.#chance() < 0.4) names.add(this.pick(this.#matching([pattern], 0, Number.POSITIVE_INFINITY)))
      if (propertyNames !== undefined && (this.#isStray || declared.size === 0) && this.#chance() < 0.5)
        names.add(this.#text(this.#unfold([propertyNames])))
      if (additionalProperties !== undefined && !additionalProperties.isNever && this.#chance() < 0.5)
        names.add(this.pick(['x', 'other', 'a1', 'foo']))
    }
    if (this.#isStray && this.#chance() < 0.08) names.add(this.pick(['undeclared', 'a', 'bar']))
    const fewest = Math.max(0, ...hints.map(({ minProperties }) => minProperties ?? 0))
    const isFree = this.#isStray || declared.size === 0
    for (let extra = 0; names.size < Math.min(fewest, 20) && extra < 80; extra += 1)
      names.add(this.pick(isFree ? [...declared, `extra${extra}`] : [...declared]))
    if (this.#isStray && this.#chance() < 0.02) names.delete(this.pick([...names, 'none']))
    const entries = [...names].map((name): [string, JsonValue] => {
      const inner = hints.flatMap((node) => memberNodesOf(node, name) ?? [])
      return [name, depth > mostDepth + 3 ? null : this.draw(inner, depth + 1, fill)]
    })
    return Object.fromEntries(entries)
  }

  #array(hints: readonly SchemaNode[], depth: number, fill?: number): JsonValue {
    const least = Math.max(0, ...hints.map(({ minItems }) => minItems ?? 0))
    const tuple = Math.max(0, ...hints.map(({ prefixItems }) => prefixItems?.length ?? 0))
    const most = Math.min(8, ...hints.map(({ maxItems }) => maxItems ?? 8))
    const wanted = this.#isDone(depth + 1)
      ? least
      : this.pick([least, most, tuple, tuple + 1, least + 1, 1, 2, Math.floor(this.#chance() * 4)])
    // A writer writes declared elements only: none behind a tuple.
    const behind = hints.some(({ prefixItems, items }) => prefixItems !== undefined && items === undefined)
    const longest = behind && !this.#isStray ? Math.max(tuple, least) : 20
    const length = Math.min(20, longest, Math.max(least, wanted))
    const items = Array.from({ length }, (_, index): JsonValue => {
      const inner = hints.flatMap(({ prefixItems, items: rest }) => prefixItems?.[index] ?? rest ?? [])
      const contained = hints.flatMap(({ contains }) => contains?.node ?? [])
      if (depth > mostDepth + 3) return null
      return this.draw(contained.length > 0 && this.#chance() < 0.5 ? [...inner, ...contained] : inner, depth + 1, fill)
    })
    const isUnique = hints.some(({ uniqueItems }) => uniqueItems === true)
    if (!isUnique && length > 1 && this.#chance() < 0.1) items[1] = items[0] ?? null
    return items
  }

  #text(hints: readonly SchemaNode[]): string {
    const patterns = hints.flatMap(({ pattern, format }) => [
      ...(pattern === undefined ? [] : [pattern]),
      ...(format === undefined ? [] : [formatTexts.get(format)?.surely ?? '']),
    ])
    const least = Math.max(0, ...hints.map(({ minLength }) => minLength ?? 0))
    const longest = Math.min(...hints.map(({ maxLength }) => maxLength ?? Number.POSITIVE_INFINITY))
    if (patterns.length > 0 && (!this.#isStray || this.#chance() < 0.95))
      return this.pick(this.#matching(patterns, least, longest))
    const most = Math.min(...hints.map(({ maxLength }) => maxLength ?? Math.max(least, 6)))
    const length = Math.min(300, this.pick([least, most, least + 1, Math.floor(this.#chance() * 5) + least]))
    const signs = this.#isStray ? ['a', 'b', 'x', 'A', '1', ' ', '😀'] : ['a', 'b', 'x', 'A', '1']
    // Libraries count signs outside the basic plane as two, JSON Schema counts them as one.
    return this.pick(signs).repeat(Math.max(0, length))
  }

  /** Returns texts of all patterns and of a length: short ones, and one of the greatest length. */
  #matching(patterns: readonly string[], least: number, longest: number): readonly string[] {
    const key = JSON.stringify([patterns, least, longest])
    const known = this.#texts.get(key)
    if (known !== undefined) return known
    const sets = this.#sets
    const find = (from: number, to: number, count: number): readonly string[] =>
      sets.within(mostPatternWork, () => {
        const parts = patterns.flatMap((pattern) => textsMatching(sets, pattern) ?? [])
        return parts.length === 0 ? [] : findTexts(sets, sets.and([...parts, lengthSet(sets, from, to)]), count)
      }) ?? []
    // The search for several texts ends at some length; that for one does not.
    const short = find(least, longest, least > longestOfSeveral ? 1 : 6)
    const long = longest <= longestDrawn ? find(longest, longest, 1) : []
    const texts = [...short, ...long]
    this.#texts.set(key, texts.length === 0 ? ['a', 'foo', ''] : texts)
    return this.#texts.get(key) ?? []
  }

  #number(hints: readonly SchemaNode[]): number {
    const lows = hints.flatMap(({ minimum, exclusiveMinimum }) =>
      [minimum, exclusiveMinimum].filter((bound) => bound !== undefined),
    )
    const highs = hints.flatMap(({ maximum, exclusiveMaximum }) =>
      [maximum, exclusiveMaximum].filter((bound) => bound !== undefined),
    )
    const [low, high] = [Math.max(...lows, Number.NEGATIVE_INFINITY), Math.min(...highs, Number.POSITIVE_INFINITY)]
    const from = Number.isFinite(low) ? low : Number.isFinite(high) ? high - 12 : -4
    const to = Number.isFinite(high) ? high : from + 12
    const isWhole = hints.some(({ types }) => types?.has('integer') === true && !types.has('number'))
    const steps = hints.flatMap(({ multipleOf }) => multipleOf ?? [])
    const value = this.pick([
      from,
      to,
      from + 1,
      to - 1,
      (from + to) / 2,
      from + this.#chance() * (to - from),
      Math.round(from + this.#chance() * (to - from)),
    ])
    const [step] = steps
    if (step !== undefined) return timesDecimal(step, Math.round(value / step))
    return isWhole && (!this.#isStray || this.#chance() < 0.97) ? Math.round(value) : value
  }
}
