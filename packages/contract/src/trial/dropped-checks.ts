/** The part of a zod schema that is read; other libraries have no `_zod`. */
interface ZodLike {
  readonly _zod?: { readonly def?: Readonly<Record<string, unknown>> }
}

/** Definitions that hold schemas, and the keys by which a payload is written. */
const inner = ['element', 'innerType', 'in', 'left', 'right', 'valueType', 'rest'] as const

/**
 * Returns the places whose checks zod leaves out of its JSON Schema: refinements, and flags of patterns. Empty for schemas of
 * other libraries, which refuse to export them.
 */
export function droppedChecks(schema: unknown): readonly string[] {
  const found = new Set<string>()
  walk(schema, '', new Set(), (path, what) => found.add(`${path === '' ? 'the event' : path} has ${what}`))
  return [...found]
}

function walk(schema: unknown, path: string, seen: Set<unknown>, report: (path: string, what: string) => void): void {
  const def = definitionOf(schema)
  if (def === undefined || seen.has(schema)) return
  seen.add(schema)
  for (const check of listOf(def['checks'])) {
    const rule = definitionOf(check) ?? {}
    if (rule['check'] === 'custom') report(path, 'a refinement')
    const { pattern } = rule
    if (pattern instanceof RegExp && /[ims]/.test(pattern.flags))
      report(path, `a pattern with flags, ${String(pattern)}`)
  }
  for (const key of inner) walk(def[key], key === 'element' || key === 'valueType' ? `${path}[]` : path, seen, report)
  for (const branch of [...listOf(def['options']), ...listOf(def['items'])]) walk(branch, path, seen, report)
  const { shape, getter } = def
  if (typeof getter === 'function') walk((getter as () => unknown)(), path, seen, report)
  if (typeof shape === 'object' && shape !== null)
    for (const [name, member] of Object.entries(shape))
      walk(member, path === '' ? name : `${path}.${name}`, seen, report)
}

function definitionOf(schema: unknown): Readonly<Record<string, unknown>> | undefined {
  const { _zod: internals } = (schema ?? {}) as ZodLike
  return internals?.def
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}
