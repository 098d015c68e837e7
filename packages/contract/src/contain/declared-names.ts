import type { SchemaNode } from '../schema/schema-node.ts'
import { isMemberOf } from '../validate/member-schemas.ts'
import { declares, type Literal } from './literal.ts'

/** The members that a writer may write at one place. */
export interface DeclaredNames {
  /** Undefined where everything may be written: the schemas declare no members, or a map of them. */
  readonly names: ReadonlySet<string> | undefined
  readonly patterns: readonly string[]
}

/**
 * Collects the members that schemas declare for the value that they are in. Those of schemas beside them, such as other branches
 * of a union, may be written, too; but where the schemas themselves declare none, everything may be.
 */
export function declaredNames(nodes: readonly SchemaNode[], beside: readonly SchemaNode[] = []): DeclaredNames {
  const own = collectNames(nodes)
  if (own.names === undefined || beside.length === 0) return own
  const others = collectNames(beside)
  if (others.isOpen) return { names: undefined, patterns: [] }
  return {
    names: new Set([...own.names, ...(others.names ?? [])]),
    patterns: [...own.patterns, ...others.patterns],
  }
}

type CollectedNames = DeclaredNames & { readonly isOpen: boolean }

/** The names of one schema alone: a comparison asks for those of a large schema once for each of its members. */
const namesOfOne = new WeakMap<SchemaNode, CollectedNames>()

function collectNames(nodes: readonly SchemaNode[]): CollectedNames {
  const [only] = nodes
  if (only === undefined || nodes.length > 1) return collectAnew(nodes)
  const known = namesOfOne.get(only) ?? collectAnew(nodes)
  namesOfOne.set(only, known)
  return known
}

function collectAnew(nodes: readonly SchemaNode[]): CollectedNames {
  const names = new Set<string>()
  const patterns: string[] = []
  let declaresSome = false
  for (const node of nodes) {
    for (const name of node.properties?.keys() ?? []) names.add(name)
    for (const name of node.required ?? []) names.add(name)
    for (const [name, others] of node.dependentRequired ?? []) for (const each of [name, ...others]) names.add(each)
    for (const [name] of node.dependentSchemas ?? []) names.add(name)
    for (const [pattern] of node.patternProperties ?? []) patterns.push(pattern)
    const rest = node.additionalProperties ?? node.unevaluatedProperties
    if (rest !== undefined && !rest.isNever) return { names: undefined, patterns, isOpen: true }
    if (node.propertyNames !== undefined && node.properties === undefined)
      return { names: undefined, patterns, isOpen: true }
    declaresSome ||= node.properties !== undefined || rest !== undefined || patterns.length > 0 || names.size > 0
  }
  return { names: declaresSome ? names : undefined, patterns, isOpen: false }
}

/** Tells whether a writer may write a member. */
export function mayWrite({ names, patterns }: DeclaredNames, name: string): boolean {
  return names === undefined || names.has(name) || patterns.some((pattern) => isMemberOf(pattern, name) !== false)
}

/** Returns a schema and all that may hold in the same place, without those it denies. */
export function inPlaceNodes(node: SchemaNode, seen: Set<SchemaNode> = new Set()): ReadonlySet<SchemaNode> {
  if (seen.has(node)) return seen
  seen.add(node)
  const { ref, allOf = [], anyOf = [], oneOf = [], if: branch, dependentSchemas = [] } = node
  const inner = [
    ref,
    ...allOf,
    ...anyOf,
    ...oneOf,
    branch?.node,
    branch?.whenTrue,
    branch?.whenFalse,
    ...dependentSchemas.map(([, each]) => each),
  ]
  for (const each of inner) if (each !== undefined) inPlaceNodes(each, seen)
  return seen
}

/** Returns schemas and all that may hold in the same place. */
export function inPlaceOf(nodes: readonly SchemaNode[]): readonly SchemaNode[] {
  const seen = new Set<SchemaNode>()
  for (const node of nodes) inPlaceNodes(node, seen)
  return [...seen]
}

/** Tells whether a schema declares members of objects. */
export function declaresMembers(node: SchemaNode): boolean {
  return inPlaceOf([node]).some(
    ({ types, properties, required, patternProperties }) =>
      (types === undefined || types.has('object')) &&
      (properties !== undefined || required !== undefined || patternProperties !== undefined),
  )
}

/** Returns what schemas of a member declare inside it, beside the schemas that the member has to fit. */
export function declaredInside(nodes: readonly SchemaNode[], accepted: readonly Literal[]): readonly Literal[] {
  return nodes
    .filter(
      (node) => !accepted.some((literal) => literal.node === node) && (declaresMembers(node) || declaresItems(node)),
    )
    .map(declares)
}

function declaresItems(node: SchemaNode): boolean {
  return inPlaceOf([node]).some(
    ({ types, prefixItems, items }) =>
      (types === undefined || types.has('array')) && (prefixItems !== undefined || items !== undefined),
  )
}
