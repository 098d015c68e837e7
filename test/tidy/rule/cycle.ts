import { importedFilesOf } from '../module-import.ts'
import { anySource, type Finding, filesOf, type Rule } from '../tree.ts'

/** Files do not import each other in a circle. Between packages the import table already forbids it. */
export const cycleRule: Rule = {
  title: 'no file imports itself by way of others',
  why:
    'In a circle of imports the order of loading decides which constant is still undefined, and no file can be ' +
    'understood alone; a circle of types is the same knot in the reader’s head. Move what both sides need into a ' +
    'file of its own.',
  find: (tree) => {
    const paths = filesOf(tree, anySource).map(([path]) => path)
    const imports = new Map(paths.map((path) => [path, importedFilesOf(tree, path)]))
    const reported = new Set<string>()
    return paths.flatMap((path): Finding[] => {
      const circle = reported.has(path) ? undefined : shortestCircle(imports, path)
      if (circle === undefined) return []
      for (const member of circle) reported.add(member)
      return [{ path, line: 1, message: `imports itself: ${[...circle, path].join(' -> ')}` }]
    })
  },
}

/** The shortest way from a file back to it, by breadth-first search. */
function shortestCircle(imports: ReadonlyMap<string, readonly string[]>, start: string): string[] | undefined {
  const cameFrom = new Map<string, string>()
  const queue = [start]
  for (const path of queue) {
    for (const next of imports.get(path) ?? []) {
      if (next === start) return wayTo(cameFrom, start, path)
      if (cameFrom.has(next)) continue
      cameFrom.set(next, path)
      queue.push(next)
    }
  }
  return undefined
}

function wayTo(cameFrom: ReadonlyMap<string, string>, start: string, end: string): string[] {
  const way = [end]
  for (let at = end; at !== start; way.unshift(at)) at = cameFrom.get(at) as string
  return way
}
