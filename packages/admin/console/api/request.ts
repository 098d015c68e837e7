import { type Routes, routes } from './api-types.ts'

/** The name of a route. */
export type RouteName = keyof Routes

/** The answer of a route. */
export type AnswerOf<R extends RouteName> = Routes[R]['answer']

/** The request of a route. Members that it does not take are left out. */
export type RequestOf<R extends RouteName> = {
  readonly [K in 'params' as keyof Routes[R]['params'] extends never ? never : K]: Routes[R]['params']
} & {
  readonly query?: Routes[R]['query']
} & {
  readonly [K in 'body' as Routes[R]['body'] extends undefined ? never : K]?: Routes[R]['body']
}

/** A request, ready to be sent or shown. */
export interface WireRequest {
  readonly method: string
  /** Below the mount path, without a leading slash: `eventbus/bindings?limit=10`. */
  readonly path: string
  /** JSON; undefined without a body. */
  readonly body: string | undefined
}

interface AnyRequest {
  readonly params?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>
  readonly body?: unknown
}

/** Returns the request of a route. Parameters without a value are left out. */
export function wireRequest<R extends RouteName>(name: R, request: RequestOf<R>): WireRequest {
  const { params = {}, query = {}, body } = request as AnyRequest
  const [method, path] = routes[name]
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, key: string) => encodeURIComponent(params[key] ?? ''))
  const search = new URLSearchParams()
  for (const [key, value] of Object.entries(query)) {
    if (value === undefined || value === '') continue
    search.set(key, typeof value === 'object' ? value.join(',') : String(value))
  }
  const isChange = method !== 'GET'
  return {
    method,
    path: `${filled.slice(1)}${search.size === 0 ? '' : `?${search.toString()}`}`,
    body: isChange && method !== 'DELETE' ? JSON.stringify(body ?? {}) : undefined,
  }
}

/**
 * Returns a request as a command line. Identities of cookies are not known here, so the user adds theirs.
 * @param headers - further ones
 */
export function curlOf(
  { method, path, body }: WireRequest,
  base: string,
  headers: Readonly<Record<string, string>> = {},
): string {
  const parts = [
    'curl',
    ...(method === 'GET' ? [] : [`-X ${method}`, "-H 'Waybill-CSRF: 1'"]),
    ...Object.entries(headers).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
    ...(body === undefined ? [] : ["-H 'Content-Type: application/json'", `--data ${quoted(body)}`]),
    quoted(`${base}${path}`),
  ]
  return parts.join(' ')
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
