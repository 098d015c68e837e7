import { canonicalText, type JsonValue } from '../schema/json.ts'
import { createNode, type SchemaNode } from '../schema/schema-node.ts'
import { type Answer, found, none, unknown } from './answer.ts'
import { declaredInside, declaresMembers, inPlaceOf } from './declared-names.ts'
import type { Demands, SolveMember } from './demands.ts'
import { accepts, type Literal, refuses } from './literal.ts'

/** Most ways of placing demands on items that are tried. */
const mostPlacements = 300

interface ItemDemand {
  readonly from: number
  readonly to: number
  readonly literal: Literal
  /** Set for one more item that has to be counted: it lies behind the one of the demand before. */
  readonly isNext?: boolean
}

/** Finds an array: its items one by one, after the demands on some item have a place. */
export function findArray(demands: Demands, solve: SolveMember): Answer {
  const plan = planOf(demands)
  if (plan.min > plan.max) return none
  const places = placementsOf(plan)
  let isExact = !plan.isInexact
  let tried = 0
  for (const placed of places) {
    tried += 1
    if (tried > mostPlacements) return unknown
    const answer = findPlaced(plan, placed, solve)
    if (answer.kind === 'FOUND') return answer
    if (answer.kind === 'UNKNOWN') isExact = false
  }
  return isExact ? none : unknown
}

interface ArrayPlan {
  readonly min: number
  readonly max: number
  readonly isUnique: boolean
  readonly isRepeated: boolean
  /** Items from here on have the same schemas. */
  readonly width: number
  readonly some: readonly ItemDemand[]
  readonly base: (index: number) => readonly Literal[]
  /** Accepted by no more items than demand it. */
  readonly limited: readonly { readonly node: SchemaNode; readonly max: number }[]
  readonly isInexact: boolean
}

function planOf({ accepted, nodes, atoms, declares }: Demands): ArrayPlan {
  const each = atoms.flatMap((atom) => (atom.kind === 'EACH_ITEM' ? atom.literal : []))
  const contained = nodes.flatMap(({ contains }) => contains ?? [])
  const some: ItemDemand[] = [
    ...atoms.flatMap((atom) => (atom.kind === 'ITEM' ? atom : [])),
    ...contained.flatMap(({ node, min }) =>
      Array.from({ length: Math.min(min, 20) }, (_, copy) => ({
        from: 0,
        to: Number.POSITIVE_INFINITY,
        literal: accepts(node),
        isNext: copy > 0,
      })),
    ),
  ]
  const limited = contained
    .filter(({ max }) => max !== Number.POSITIVE_INFINITY)
    .map(({ node, max }) => ({ node, max }))
  return {
    min: Math.max(0, ...nodes.map(({ minItems }) => minItems ?? 0)),
    max: Math.min(
      writtenLength(accepted, declares),
      ...nodes.map(({ maxItems }) => maxItems ?? Number.POSITIVE_INFINITY),
    ),
    isUnique: nodes.some(({ uniqueItems }) => uniqueItems === true),
    isRepeated: atoms.some(({ kind }) => kind === 'REPEATED_ITEM'),
    width: Math.max(
      0,
      ...nodes.map(({ prefixItems }) => prefixItems?.length ?? 0),
      ...some.map(({ from, to }) => (to === from ? from + 1 : from)),
    ),
    some,
    base: (index) => {
      const literals = accepted.flatMap((literal) => itemLiterals(literal, index))
      return [...literals, ...declaredInside(besideItem(inPlaceOf(declares), index), literals), ...each]
    },
    limited,
    isInexact: contained.some(({ min, max }) => min > 20 || (max !== Number.POSITIVE_INFINITY && max > min)),
  }
}

/** A writer writes no items behind a tuple, unless the schema says which; those of other branches may be there. */
function writtenLength(accepted: readonly Literal[], declares: readonly SchemaNode[]): number {
  const writers = accepted.filter(({ isWritten }) => isWritten).map(({ node }) => node)
  if (writers.every(({ prefixItems }) => prefixItems === undefined)) return Number.POSITIVE_INFINITY
  const all = [...writers, ...inPlaceOf(declares)]
  const isOpen = all.some(({ items, unevaluatedItems }) => items !== undefined || unevaluatedItems !== undefined)
  return isOpen ? Number.POSITIVE_INFINITY : Math.max(...all.map(({ prefixItems }) => prefixItems?.length ?? 0))
}

function itemLiterals({ node, isWritten }: Literal, index: number): Literal[] {
  const inner = node.prefixItems?.[index] ?? node.items
  return [
    ...(inner === undefined ? [] : [accepts(inner, isWritten)]),
    // An item may have the members that `contains` declares, whether it is the one that is asked for or not.
    ...(isWritten && node.contains !== undefined && declaresMembers(node.contains.node)
      ? [accepts(createNode('', { anyOf: [node.contains.node, createNode('')] }), true)]
      : []),
  ]
}

/** The schemas of an item in schemas beside those that accept the array. */
function besideItem(nodes: readonly SchemaNode[], index: number): readonly SchemaNode[] {
  return nodes.flatMap(({ prefixItems, items, contains }) => [
    ...(prefixItems?.[index] === undefined ? (items === undefined ? [] : [items]) : [prefixItems[index]]),
    ...(contains === undefined ? [] : [contains.node]),
  ])
}

/** Generates the places of the demands: each gets an index, and rests that look alike are told apart by number. */
function* placementsOf({ some, width, max }: ArrayPlan, at = 0, before = -1): Generator<readonly number[]> {
  const demand = some[at]
  if (demand === undefined) {
    yield []
    return
  }
  const last = Math.min(demand.to, max - 1, width + some.length - 1)
  for (let index = demand.isNext === true ? before + 1 : demand.from; index <= last; index += 1)
    for (const rest of placementsOf({ some, width, max } as ArrayPlan, at + 1, index)) yield [index, ...rest]
}

function findPlaced(plan: ArrayPlan, placed: readonly number[], solve: SolveMember): Answer {
  const length = Math.max(plan.min, ...placed.map((index) => index + 1))
  if (length > 2_000) return unknown
  const literalsAt = (index: number): Literal[] => [
    ...plan.base(index),
    ...plan.some.flatMap(({ literal }, demand) => (placed[demand] === index ? literal : [])),
    ...plan.limited.flatMap(({ node }) =>
      plan.some.some((demand, at) => placed[at] === index && demand.literal.node === node) ? [] : refuses(node),
    ),
  ]
  return plan.isRepeated
    ? findRepeated(plan, length, literalsAt, solve)
    : fill(plan, length, literalsAt, solve, new Map())
}

function findRepeated(
  plan: ArrayPlan,
  length: number,
  literalsAt: (index: number) => Literal[],
  solve: SolveMember,
): Answer {
  if (plan.isUnique) return none
  // Behind all items with a place there is room for two more.
  const last = Math.min(plan.max, Math.max(length, plan.width + plan.some.length + 2)) - 1
  let isExact = true
  for (let second = 1; second <= last; second += 1)
    for (let first = 0; first < second; first += 1) {
      const both = solve([...literalsAt(first), ...literalsAt(second)])
      if (both.kind === 'UNKNOWN') isExact = false
      if (both.kind !== 'FOUND') continue
      const fixed = new Map([
        [first, both.value],
        [second, both.value],
      ])
      const answer = fill(plan, Math.max(length, second + 1), literalsAt, solve, fixed)
      if (answer.kind === 'FOUND') return answer
      if (answer.kind === 'UNKNOWN') isExact = false
    }
  return isExact ? none : unknown
}

function fill(
  { isUnique, some }: ArrayPlan,
  length: number,
  literalsAt: (index: number) => Literal[],
  solve: SolveMember,
  fixed: ReadonlyMap<number, JsonValue>,
): Answer {
  const items: JsonValue[] = []
  const used = new Set<string>()
  for (let index = 0; index < length; index += 1) {
    const literals = literalsAt(index)
    const given = fixed.get(index)
    const others = isUnique && items.length > 0 ? [refuses(createNode('', { enum: [...items] }))] : []
    const answer = given === undefined ? solve([...literals, ...others]) : found(given)
    if (answer.kind === 'NONE' && others.length > 0 && solve(literals).kind !== 'NONE')
      // Other values for the items before might leave one for this. With equal schemas there is no other way.
      return isUniform(length, literalsAt) && some.length === 0 ? none : unknown
    if (answer.kind !== 'FOUND') return answer
    items.push(answer.value)
    used.add(canonicalText(answer.value))
  }
  return found(items)
}

function isUniform(length: number, literalsAt: (index: number) => readonly Literal[]): boolean {
  const keyOf = (index: number): string =>
    literalsAt(index)
      .map(({ node, holds }) => `${node.id} ${holds}`)
      .join()
  return Array.from({ length }, (_, index) => keyOf(index)).every((key) => key === keyOf(0))
}
