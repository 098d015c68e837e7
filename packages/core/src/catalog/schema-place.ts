import { resolveReference } from './resolve-reference.ts'

/** A JSON object, as a schema or a value. */
export type Json = Readonly<Record<string, unknown>>

/** The schemas of a document that all hold in one place. */
export interface SchemaPlace {
  readonly root: Json
  readonly nodes: readonly unknown[]
}

/** Ways in which a keyword can hold, each by the schemas that hold together then. */
type Choice = readonly (readonly unknown[])[]

/**
 * Returns all schemas that may hold for a value in a place: behind references, in `allOf`, and in the branches of unions and
 * conditions. A branch that surely refuses the value, by its type or a listed value, is left out.
 */
export function schemasInPlace({ root, nodes }: SchemaPlace, value: unknown): readonly Json[] {
  const found = new Set<Json>()
  const visit = (schemas: readonly unknown[]): void => {
    for (const node of together(root, schemas, value)) {
      if (found.has(node)) continue
      found.add(node)
      for (const choice of choicesOf(root, node, value)) for (const way of choice) visit(way)
    }
  }
  visit(nodes)
  return [...found]
}

/** Returns the place of a member: without nodes where it is not declared. */
export function memberPlace(place: SchemaPlace, value: unknown, name: string): SchemaPlace {
  const declared = innerPlace(place, value, (node) => memberSchemas(node, name))
  return declared.nodes.length > 0
    ? declared
    : innerPlace(place, value, ({ unevaluatedProperties: rest }) => (isObject(rest) ? [rest] : []))
}

/** Returns the place of a list's item. */
export function itemPlace(place: SchemaPlace, value: unknown, index: number): SchemaPlace {
  const declared = innerPlace(place, value, (node) => {
    const own = tupleOf(node)?.[index] ?? restOf(node)
    const contained = node['contains']
    return [
      ...(own === undefined ? [] : [own]),
      // An item may be the one that is asked for, and need not.
      ...(contained === undefined ? [] : [{ anyOf: [contained, {}] }]),
    ]
  })
  return declared.nodes.length > 0
    ? declared
    : innerPlace(place, value, ({ unevaluatedItems: rest }) => (isObject(rest) ? [rest] : []))
}

/** Tells whether a value may have members that nothing declares: the schemas of one way to read it name none. */
export function isFreeForm(place: SchemaPlace, value: unknown): boolean {
  return schemasInPlace(place, value).some(acceptsOthers) || mayLack(place, value, declaresMembers)
}

/** Returns the number of items that are declared: those of tuples, or any number. */
export function declaredLength(place: SchemaPlace, value: unknown): number {
  if (mayLack(place, value, (node) => tupleOf(node) !== undefined)) return Number.POSITIVE_INFINITY
  const nodes = schemasInPlace(place, value)
  const isOpen = nodes.some((node) => restOf(node) !== undefined || node['unevaluatedItems'] !== undefined)
  return isOpen ? Number.POSITIVE_INFINITY : Math.max(0, ...nodes.map((node) => tupleOf(node)?.length ?? 0))
}

/**
 * Tells whether there is a way to read the value in which no schema has a property. A schema that is met again on its own path
 * counts as lacking it. What follows from that is taken back if the schema turns out to have it: each round finds one such schema
 * at least, so the number of steps grows with the square of the schemas, not with the ways through them.
 */
function mayLack({ root, nodes }: SchemaPlace, value: unknown, has: (node: Json) => boolean): boolean {
  const having = new Set<Json>()
  for (;;) {
    const known = having.size
    const lacking = new Set<Json>()
    const lacks = (schemas: readonly unknown[]): boolean =>
      together(root, schemas, value).every((node) => {
        if (having.has(node)) return false
        if (lacking.has(node)) return true
        lacking.add(node)
        if (!has(node) && choicesOf(root, node, value).every((choice) => choice.length === 0 || choice.some(lacks)))
          return true
        having.add(node)
        return false
      })
    const answer = lacks(nodes)
    if (!answer || having.size === known) return answer
  }
}

/** A schema in a place: its own schemas of the member, and the schemas of each way of its choices. */
interface PlacePart {
  readonly node: Json
  readonly own: readonly unknown[]
  readonly choices: readonly (readonly (readonly Json[])[])[]
}

/** Returns the place inside: one union for each choice that leads to a schema there, however many ways lead to the choice. */
function innerPlace(place: SchemaPlace, value: unknown, inner: (node: Json) => readonly unknown[]): SchemaPlace {
  const { first, parts } = partsOf(place, value, inner)
  const isInside = leadingInside(parts)
  const schemas = new Map<Json, readonly unknown[]>()
  const unions = new Map<unknown, readonly (readonly Json[])[]>()
  for (const { node, own, choices } of parts) {
    const found = [...own]
    for (const ways of choices) {
      if (!ways.some((way) => way.some(isInside))) continue
      const union = {}
      unions.set(union, ways)
      found.push(union)
    }
    schemas.set(node, found)
  }
  // Filled last: a recursive schema leads to its own union.
  for (const [union, ways] of unions) {
    const different = withoutRepeated(ways.map((way) => way.flatMap((node) => schemas.get(node) ?? [])))
    const [only = []] = different
    // A union whose ways all lead to one other union is that union: they would pile up with the depth of a value.
    const isOther = different.length === 1 && only.length === 1 && unions.has(only[0])
    Object.assign(union as object, isOther ? { allOf: only } : { anyOf: different.map((way) => ({ allOf: way })) })
  }
  return { root: place.root, nodes: first.flatMap((node) => schemas.get(node) ?? []) }
}

/** Returns the schemas that may hold in a place, each once, and those among them that hold in any case. */
function partsOf(
  { root, nodes }: SchemaPlace,
  value: unknown,
  inner: (node: Json) => readonly unknown[],
): { readonly first: readonly Json[]; readonly parts: readonly PlacePart[] } {
  const parts: PlacePart[] = []
  const seen = new Set<Json>()
  const visit = (schemas: readonly unknown[]): readonly Json[] => {
    const here = together(root, schemas, value)
    for (const node of here) {
      if (seen.has(node)) continue
      seen.add(node)
      parts.push({
        node,
        own: inner(node),
        choices: choicesOf(root, node, value).map((choice) => choice.map(visit)),
      })
    }
    return here
  }
  return { first: visit(nodes), parts }
}

/** Returns a test for schemas that have schemas inside, by themselves or in a way of a choice. */
function leadingInside(parts: readonly PlacePart[]): (node: Json) => boolean {
  const leadingTo = new Map<Json, Json[]>()
  for (const { node, choices } of parts)
    for (const reached of choices.flat(2)) {
      const sources = leadingTo.get(reached)
      if (sources === undefined) leadingTo.set(reached, [node])
      else sources.push(node)
    }
  const found = new Set(parts.filter(({ own }) => own.length > 0).map(({ node }) => node))
  // The set grows while it is read, so that sources of sources are found, too.
  for (const node of found) for (const source of leadingTo.get(node) ?? []) found.add(source)
  return (node) => found.has(node)
}

/** Returns the lists that differ from all before them. */
function withoutRepeated(lists: readonly (readonly unknown[])[]): readonly (readonly unknown[])[] {
  return lists.filter(
    (list, at) =>
      !lists
        .slice(0, at)
        .some((earlier) => earlier.length === list.length && earlier.every((each, index) => each === list[index])),
  )
}

/** Returns schemas and those that hold with them in any case: behind references, in `allOf`, and for members that are there. */
function together(root: Json, schemas: readonly unknown[], value: unknown): readonly Json[] {
  const found = new Set<Json>()
  const queue = [...schemas]
  while (queue.length > 0) {
    const node = queue.pop()
    if (!isObject(node) || found.has(node)) continue
    found.add(node)
    const { allOf, dependentSchemas } = node
    for (const key of ['$ref', '$dynamicRef', '$recursiveRef']) {
      const reference = node[key]
      if (typeof reference === 'string') queue.push(resolveReference(root, reference))
    }
    if (Array.isArray(allOf)) queue.push(...(allOf as unknown[]))
    if (isObject(dependentSchemas) && isObject(value))
      for (const [name, schema] of Object.entries(dependentSchemas)) if (Object.hasOwn(value, name)) queue.push(schema)
  }
  return [...found]
}

function choicesOf(root: Json, node: Json, value: unknown): readonly Choice[] {
  const { anyOf, oneOf, if: condition, then: consequence, else: otherwise } = node
  const choices: Choice[] = []
  for (const branches of [anyOf, oneOf])
    if (Array.isArray(branches))
      choices.push((branches as unknown[]).filter((each) => isPossible(root, each, value)).map((each) => [each]))
  if (condition !== undefined) choices.push([[condition, consequence], [otherwise]])
  return choices
}

/** Tells whether a branch may accept a value, as far as types and listed values of members show it. */
function isPossible(root: Json, branch: unknown, value: unknown): boolean {
  return together(root, [branch], value).every((node) => {
    if (!hasType(node['type'], value)) return false
    const { properties } = node
    if (!isObject(properties) || !isObject(value)) return true
    return Object.entries(properties).every(
      ([name, schema]) => !Object.hasOwn(value, name) || mayList(root, schema, value[name]),
    )
  })
}

function mayList(root: Json, schema: unknown, value: unknown): boolean {
  return together(root, [schema], value).every((node) => {
    const listed = Object.hasOwn(node, 'const') ? [node['const']] : node['enum']
    if (!Array.isArray(listed)) return true
    // Objects are left to the schema itself.
    return typeof value === 'object' && value !== null
      ? listed.some((each) => Object(each) === each)
      : listed.includes(value)
  })
}

function hasType(type: unknown, value: unknown): boolean {
  if (type === undefined) return true
  const names: readonly unknown[] = Array.isArray(type) ? type : [type]
  if (value === null) return names.includes('null')
  if (Array.isArray(value)) return names.includes('array')
  return names.includes(typeof value) || (typeof value === 'number' && names.includes('integer'))
}

function acceptsOthers({ additionalProperties: rest, unevaluatedProperties: unevaluated }: Json): boolean {
  return (rest !== undefined && rest !== false) || (unevaluated !== undefined && unevaluated !== false)
}

function declaresMembers(node: Json): boolean {
  const { properties, patternProperties, required, dependentRequired, dependentSchemas } = node
  return (
    isObject(properties) ||
    isObject(patternProperties) ||
    (Array.isArray(required) && required.length > 0) ||
    [dependentRequired, dependentSchemas].some((each) => isObject(each) && Object.keys(each).length > 0) ||
    node['additionalProperties'] !== undefined ||
    node['unevaluatedProperties'] !== undefined
  )
}

function memberSchemas(node: Json, name: string): readonly unknown[] {
  const { properties, patternProperties, additionalProperties: rest, required, dependentRequired } = node
  const found: unknown[] = []
  if (isObject(properties) && Object.hasOwn(properties, name)) found.push(properties[name])
  if (isObject(patternProperties))
    for (const [pattern, schema] of Object.entries(patternProperties)) {
      const matcher = matcherOf(pattern)
      if (matcher === null) found.push(everything)
      else if (matcher.test(name)) found.push(schema)
    }
  if (found.length === 0 && isObject(rest)) found.push(rest)
  const isNamed = Array.isArray(required) && required.includes(name)
  const isDependent =
    isObject(dependentRequired) &&
    (Object.hasOwn(dependentRequired, name) || Object.values(dependentRequired).flat().includes(name))
  return found.length === 0 && (isNamed || isDependent) ? [{}] : found
}

const matchers = new Map<string, RegExp | null>()
const mostMatchers = 10_000

/**
 * Returns the matcher of a pattern. Libraries whose patterns are regular expressions of JavaScript also export ones that the
 * flag `u` refuses. Null for one that only another language reads: it declares every member.
 */
function matcherOf(pattern: string): RegExp | null {
  const known = matchers.get(pattern)
  if (known !== undefined) return known
  if (matchers.size >= mostMatchers) matchers.clear()
  const made = compiled(pattern, 'u') ?? compiled(pattern, '')
  matchers.set(pattern, made)
  return made
}

function compiled(pattern: string, flags: string): RegExp | null {
  try {
    return new RegExp(pattern, flags)
  } catch {
    return null // The schema itself judges names that match.
  }
}

function tupleOf({ prefixItems, items }: Json): readonly unknown[] | undefined {
  const tuple = prefixItems ?? items
  return Array.isArray(tuple) ? (tuple as readonly unknown[]) : undefined
}

function restOf({ items, additionalItems }: Json): unknown {
  return Array.isArray(items) ? additionalItems : items
}

const everything: Json = Object.freeze({ additionalProperties: true, items: true })

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
