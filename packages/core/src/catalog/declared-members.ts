/** A JSON object, as a schema or a value. */
type Json = Readonly<Record<string, unknown>>

/** The schemas of a document that hold in one place. */
export interface SchemaPlace {
  readonly root: Json
  readonly nodes: readonly unknown[]
}

/**
 * Returns the value without the members that its JSON Schema does not declare, and their paths. A place that declares no
 * members is a free form, and all of it stays; so do the members of a map (`additionalProperties`, `patternProperties`).
 * Members of all branches of a union count as declared.
 */
export function withoutUndeclared(
  schema: Json,
  value: unknown,
): { readonly value: unknown; readonly undeclared: readonly string[][] } {
  const undeclared: string[][] = []
  return { value: keep({ root: schema, nodes: [schema] }, value, [], undeclared), undeclared }
}

function keep(place: SchemaPlace, value: unknown, path: readonly string[], undeclared: string[][]): unknown {
  if (typeof value !== 'object' || value === null || path.length > 200) return value
  const nodes = inPlace(place)
  if (Array.isArray(value)) {
    const items = value.map((item: unknown, index) =>
      keep({ root: place.root, nodes: itemNodes(nodes, index) }, item, [...path, String(index)], undeclared),
    )
    return items.every((item, index) => item === value[index]) ? value : items
  }
  const isOpen = isFreeForm(nodes)
  const members = Object.entries(value).flatMap(([name, member]): [string, unknown][] => {
    const inner = memberPlace(nodes, place.root, name)
    if (inner.nodes.length > 0) return [[name, keep(inner, member, [...path, name], undeclared)]]
    if (isOpen) return [[name, member]]
    undeclared.push([...path, name])
    return []
  })
  const isSame =
    members.length === Object.keys(value).length && members.every(([name, member]) => member === (value as Json)[name])
  return isSame ? value : Object.fromEntries(members)
}

/** Returns all schemas that may hold for the same value. */
export function inPlace({ root, nodes }: SchemaPlace): readonly Json[] {
  const found = new Set<Json>()
  const queue = [...nodes]
  for (let node = queue.pop(); node !== undefined; node = queue.pop()) {
    if (!isObject(node) || found.has(node)) continue
    found.add(node)
    const { $ref, allOf, anyOf, oneOf, if: condition, then: consequence, else: otherwise, dependentSchemas } = node
    if (typeof $ref === 'string') queue.push(resolve(root, $ref))
    for (const branches of [allOf, anyOf, oneOf]) if (Array.isArray(branches)) queue.push(...(branches as unknown[]))
    queue.push(condition, consequence, otherwise)
    if (isObject(dependentSchemas)) queue.push(...Object.values(dependentSchemas))
    while (queue.length > 0 && queue.at(-1) === undefined) queue.pop()
  }
  return [...found]
}

/** A reference that leads out of the document declares everything: nothing is refused on a guess. */
function resolve(root: Json, reference: string): unknown {
  if (reference === '#') return root
  if (!reference.startsWith('#/')) return { additionalProperties: true }
  let place: unknown = root
  for (const key of reference.slice(2).split('/')) {
    const name = decodeURIComponent(key).replaceAll('~1', '/').replaceAll('~0', '~')
    place = isObject(place) || Array.isArray(place) ? (place as Json)[name] : undefined
  }
  return place ?? { additionalProperties: true }
}

function isFreeForm(nodes: readonly Json[]): boolean {
  const restsOn = ['$ref', 'allOf', 'anyOf', 'oneOf']
  const isOpen = nodes.some(
    ({ additionalProperties: rest, unevaluatedProperties: unevaluated }) =>
      (rest !== undefined && rest !== false) || (unevaluated !== undefined && unevaluated !== false),
  )
  const mayBeAnything = nodes.some(
    (node) =>
      node['properties'] === undefined &&
      node['patternProperties'] === undefined &&
      node['required'] === undefined &&
      restsOn.every((key) => node[key] === undefined) &&
      node['enum'] === undefined &&
      node['const'] === undefined &&
      (node['type'] === undefined ||
        node['type'] === 'object' ||
        (Array.isArray(node['type']) && node['type'].includes('object'))),
  )
  return isOpen || mayBeAnything
}

/** Returns the place of a member: without nodes where it is not declared. */
export function memberPlace(nodes: readonly Json[], root: Json, name: string): SchemaPlace {
  const inner = nodes.flatMap((node): unknown[] => {
    const { properties, patternProperties, additionalProperties: rest, required, dependentRequired } = node
    const found: unknown[] = []
    if (isObject(properties) && Object.hasOwn(properties, name)) found.push(properties[name])
    if (isObject(patternProperties))
      for (const [pattern, schema] of Object.entries(patternProperties))
        if (new RegExp(pattern, 'u').test(name)) found.push(schema)
    if (found.length === 0 && isObject(rest)) found.push(rest)
    const isNamed = Array.isArray(required) && required.includes(name)
    const isDependent =
      isObject(dependentRequired) &&
      (Object.hasOwn(dependentRequired, name) || Object.values(dependentRequired).flat().includes(name))
    if (found.length === 0 && (isNamed || isDependent)) found.push({})
    return found
  })
  return { root, nodes: inner }
}

/** Returns the schemas of a list's item. */
export function itemNodes(nodes: readonly Json[], index: number): unknown[] {
  return nodes.flatMap(({ prefixItems, items, additionalItems, contains }): unknown[] => {
    const tuple: unknown = prefixItems ?? (Array.isArray(items) ? items : undefined)
    const own: unknown =
      (Array.isArray(tuple) ? tuple[index] : undefined) ?? (Array.isArray(items) ? additionalItems : items)
    return [own, contains].filter((each) => each !== undefined)
  })
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
