/** Tells whether lists and objects are nested deeper than a number of levels. It goes level by level, so no depth is too much. */
export function isDeeperThan(value: unknown, levels: number): boolean {
  let inside: ReadonlySet<unknown> = new Set([value])
  for (let level = 0; level <= levels; level += 1) {
    const next = new Set<unknown>()
    for (const each of inside)
      if (typeof each === 'object' && each !== null)
        for (const inner of Object.values(each)) if (typeof inner === 'object' && inner !== null) next.add(inner)
    if (next.size === 0) return false
    inside = next
  }
  return true
}
