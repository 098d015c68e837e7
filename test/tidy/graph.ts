/** Directed edges: each node with the nodes it leads to. */
export type Graph = ReadonlyMap<string, Iterable<string>>

/**
 * Returns the sets of nodes that can all reach each other: Tarjan's strongly connected components of more than one node.
 * Each set is sorted, and so is their list.
 */
export function cyclesOf(graph: Graph): string[][] {
  const order = new Map<string, number>()
  const lowest = new Map<string, number>()
  const open: string[] = []
  const cycles: string[][] = []

  const visit = (node: string): number => {
    const index = order.size
    order.set(node, index)
    lowest.set(node, index)
    open.push(node)
    for (const next of graph.get(node) ?? []) {
      const reached = order.has(next) ? (open.includes(next) ? order.get(next) : undefined) : visit(next)
      if (reached !== undefined) lowest.set(node, Math.min(lowest.get(node) as number, reached))
    }
    const low = lowest.get(node) as number
    if (low !== index) return low
    const component = open.splice(open.lastIndexOf(node))
    if (component.length > 1) cycles.push(component.toSorted())
    return low
  }

  for (const node of graph.keys()) if (!order.has(node)) visit(node)
  return cycles.toSorted((one, other) => ((one[0] ?? '') < (other[0] ?? '') ? -1 : 1))
}
