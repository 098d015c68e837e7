type Json = Readonly<Record<string, unknown>>

/** Declares everything: nothing is refused on a guess. */
const everything: Json = Object.freeze({ additionalProperties: true, items: true })

/** Members that hold data: an anchor in them names nothing. */
const dataMembers = new Set(['enum', 'const', 'default', 'examples'])

const anchorsOf = new WeakMap<Json, ReadonlyMap<string, Json>>()

/**
 * Returns the schema that a reference of a document leads to: by a JSON Pointer or an anchor, behind the document's own `$id` if it is
 * named. A reference that leads out of the document, or into a part with an `$id` of its own, declares everything.
 */
export function resolveReference(root: Json, reference: string): unknown {
  const [document = '', fragment = ''] = reference.split('#')
  if (document !== '' && document !== withoutHash(root['$id'])) return everything
  if (fragment === '') return root
  if (!fragment.startsWith('/')) return anchorsIn(root).get(fragment) ?? everything
  let place: unknown = root
  for (const key of fragment.slice(1).split('/')) {
    const name = decode(key).replaceAll('~1', '/').replaceAll('~0', '~')
    place = (isObject(place) || Array.isArray(place)) && Object.hasOwn(place, name) ? (place as Json)[name] : undefined
  }
  return place ?? everything
}

function withoutHash(id: unknown): string | undefined {
  return typeof id === 'string' ? id.replace(/#$/, '') : undefined
}

function anchorsIn(root: Json): ReadonlyMap<string, Json> {
  const known = anchorsOf.get(root)
  if (known !== undefined) return known
  const found = new Map<string, Json>()
  const queue: unknown[] = [root]
  const seen = new Set<unknown>()
  for (let value = queue.pop(); value !== undefined; value = queue.pop()) {
    if (typeof value !== 'object' || value === null || seen.has(value)) continue
    seen.add(value)
    if (isObject(value))
      for (const key of ['$anchor', '$dynamicAnchor'] as const) {
        const anchor = value[key]
        if (typeof anchor === 'string') found.set(anchor, value)
      }
    for (const [key, inner] of Object.entries(value)) if (!dataMembers.has(key)) queue.push(inner)
  }
  anchorsOf.set(root, found)
  return found
}

function decode(key: string): string {
  try {
    return decodeURIComponent(key)
  } catch {
    return key // Not encoded: the characters mean themselves.
  }
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
