/** A request for the admin API. */
export interface AdminRequest {
  readonly method: string
  /** Path and query below the mount path: `/eventbus/bindings?limit=10`. */
  readonly url: string
  /** The path as the client sent it, where the host removed its mount path: `/ops`. */
  readonly originalPath?: string | undefined
  /** Header values by lower-case name. */
  readonly headers: Readonly<Record<string, string | undefined>>
  /** The address of the peer of the socket. Empty if the host does not tell: then it is not loopback. */
  readonly remoteAddress: string
}

/**
 * The body of a request: read when a route needs it, and only up to its limit. CONSUMED: a body parser of the host has read
 * it.
 */
export type RequestBody = AsyncIterable<Uint8Array> | 'CONSUMED' | undefined
