import type { Route } from './route.ts'

/** A route and the segments of the path that it names. */
export interface RouteMatch {
  readonly route: Route
  readonly params: Readonly<Record<string, string>>
}

/** The routes at a path. */
export interface PathMatch {
  /** By method. Empty if there is no such path. */
  readonly matches: ReadonlyMap<string, RouteMatch>
}

/** Finds routes by path. A literal segment goes before a parameter. */
export class RouteTable {
  readonly routes: readonly Route[]
  readonly #entries: readonly { readonly route: Route; readonly parts: readonly string[] }[]

  constructor(routes: readonly Route[]) {
    this.routes = routes
    this.#entries = routes
      .map((route) => ({ route, parts: route.path.split('/').slice(1) }))
      .toSorted((one, other) => parametersIn(one.parts) - parametersIn(other.parts))
  }

  /** @param segments - decoded segments of the path */
  find(segments: readonly string[]): PathMatch {
    const matches = new Map<string, RouteMatch>()
    for (const { route, parts } of this.#entries) {
      const params = parts.length === segments.length ? paramsOf(parts, segments) : undefined
      if (params !== undefined && !matches.has(route.method)) matches.set(route.method, { route, params })
    }
    return { matches }
  }
}

function parametersIn(parts: readonly string[]): number {
  return parts.filter(isParameter).length
}

function isParameter(part: string): boolean {
  return part.startsWith('{')
}

function paramsOf(parts: readonly string[], segments: readonly string[]): Record<string, string> | undefined {
  const params: Record<string, string> = {}
  for (const [index, part] of parts.entries()) {
    const segment = segments[index] ?? ''
    if (!isParameter(part)) {
      if (part !== segment) return undefined
    } else if (segment === '') return undefined
    else params[part.slice(1, -1)] = segment
  }
  return params
}
