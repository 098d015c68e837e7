/** The address of a page, below the mount path. Pure: tests show that it survives the way through a URL. */

/** A page with its state. Everything that a colleague should see who opens the same address. */
export interface Place {
  /** Decoded segments of the path: none is the overview. */
  readonly segments: readonly string[]
  /** Parameters with a value. */
  readonly query: Readonly<Record<string, string>>
}

/** Returns the path and query of a place, below the mount path: `bindings/shipping?tab=audit`. */
export function formatPlace({ segments, query }: Place): string {
  const entries = Object.entries(query).filter(([, value]) => value !== '')
  const search = new URLSearchParams(entries.toSorted(([one], [other]) => (one < other ? -1 : 1)))
  return `${segments.map(encodeURIComponent).join('/')}${search.size === 0 ? '' : `?${search.toString()}`}`
}

/** Reads an address. What cannot be decoded is kept as it is. @param mount - the path of the mount, with a final slash */
export function parsePlace(url: URL, mount: string): Place {
  const path = url.pathname.startsWith(mount) ? url.pathname.slice(mount.length) : ''
  const segments = path.split('/').filter((segment) => segment !== '')
  const query = Object.fromEntries([...url.searchParams].filter(([, value]) => value !== ''))
  return { segments: segments.map(decoded), query }
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}

/** A route of the console: `bindings/:key`. */
export type Pattern = string

/** Returns the parameters of a place that a pattern matches; undefined if it does not. */
export function matchPattern(
  pattern: Pattern,
  segments: readonly string[],
): Readonly<Record<string, string>> | undefined {
  const parts = pattern.split('/').filter((part) => part !== '')
  if (parts.length !== segments.length) return undefined
  const params: Record<string, string> = {}
  for (const [index, part] of parts.entries()) {
    const segment = segments[index] ?? ''
    if (part.startsWith(':')) params[part.slice(1)] = segment
    else if (part !== segment) return undefined
  }
  return params
}
