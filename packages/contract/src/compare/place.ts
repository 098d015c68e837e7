import type { CompatibilityDirection } from '../policy/compatibility-mode.ts'
import { createNode, type SchemaNode } from '../schema/schema-node.ts'

/** A place that both schemas describe, on the way to the keyword that is to blame. */
export interface Place {
  readonly direction: CompatibilityDirection
  /** The writer's schemas that hold here, for the words of the finding. */
  readonly writers: readonly SchemaNode[]
  /** The reader's schema here. */
  readonly reader: SchemaNode
  /** Keys from the event to this place, as one writes them. */
  readonly path: readonly string[]
  /** A schema of the whole event that demands a schema at this place and nothing else. */
  readonly whole: (here: SchemaNode) => SchemaNode
}

/** Returns the writer's schemas that always hold beside each other: behind references and inside `allOf`. */
export function withStatic(nodes: readonly SchemaNode[], seen: Set<SchemaNode> = new Set()): readonly SchemaNode[] {
  for (const node of nodes) {
    if (seen.has(node)) continue
    seen.add(node)
    withStatic([...(node.ref === undefined ? [] : [node.ref]), ...(node.allOf ?? [])], seen)
  }
  return [...seen]
}

/** Returns the writer's schemas that may hold: those of branches, too. */
export function withBranches(nodes: readonly SchemaNode[], seen: Set<SchemaNode> = new Set()): readonly SchemaNode[] {
  for (const node of nodes) {
    if (seen.has(node)) continue
    seen.add(node)
    const { ref, allOf = [], anyOf = [], oneOf = [] } = node
    withBranches([...(ref === undefined ? [] : [ref]), ...allOf, ...anyOf, ...oneOf], seen)
  }
  return [...seen]
}

/** The place of a property. */
export function propertyPlace(place: Place, name: string, reader: SchemaNode): Place {
  const writers = withBranches(place.writers).flatMap(({ properties }) => properties?.get(name) ?? [])
  return {
    ...place,
    writers,
    reader,
    path: [...place.path, name],
    whole: (here) => place.whole(createNode('', { properties: new Map([[name, here]]) })),
  }
}

/** The place of an item of a tuple, or of all items behind it. */
export function itemPlace(place: Place, index: number | null, reader: SchemaNode): Place {
  const nodes = withBranches(place.writers)
  const writers = nodes.flatMap(
    ({ prefixItems, items }) => (index === null ? items : prefixItems?.[index]) ?? items ?? [],
  )
  const open = createNode('')
  const tuple = (here: SchemaNode): SchemaNode =>
    createNode('', { prefixItems: [...Array.from({ length: index ?? 0 }, () => open), here] })
  const behind = Array.from({ length: place.reader.prefixItems?.length ?? 0 }, () => open)
  return {
    ...place,
    writers,
    reader,
    path: [...place.path, index === null ? '[]' : `[${index}]`],
    whole: (here) => place.whole(index === null ? createNode('', { prefixItems: behind, items: here }) : tuple(here)),
  }
}

/** Returns the path as one writes it: `items[].price`; "the event" for its root. */
export function pathText({ path }: Place): string {
  return path.length === 0 ? 'the event' : path.join('.').replaceAll('.[', '[')
}
