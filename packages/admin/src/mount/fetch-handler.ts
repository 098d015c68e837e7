import type { IncomingMessage } from 'node:http'
import type { AdminRequest } from '../http/admin-request.ts'
import { withoutPrefix } from './fastify-plugin.ts'
import type { AdminHandler } from './node-listener.ts'

/** How a host of Web requests mounts the admin. */
export interface FetchOptions {
  /** The address of the peer of the socket. @defaultValue empty: the request is not local */
  readonly remoteAddress?: string | undefined
  /** The mount path, which is removed from the URL. @defaultValue none */
  readonly prefix?: string | undefined
}

/** Answers a Web request. */
export async function fetchWith(
  handle: AdminHandler,
  request: Request,
  { remoteAddress = '', prefix = '' }: FetchOptions,
): Promise<Response> {
  const { pathname, search } = new URL(request.url)
  const own: AdminRequest = {
    method: request.method,
    url: withoutPrefix(`${pathname}${search}`, prefix),
    originalPath: pathname,
    headers: Object.fromEntries(request.headers),
    remoteAddress,
  }
  const body = request.bodyUsed ? 'CONSUMED' : (request.body ?? undefined)
  const answer = await handle(own, body, request.signal)
  const { status, headers } = answer
  if (typeof answer.body === 'string' || answer.body instanceof Uint8Array)
    return new Response(hasNoBody(status) ? null : Buffer.from(answer.body as string), { status, headers })
  return new Response(ReadableStream.from(encoded(answer.body)), { status, headers })
}

function hasNoBody(status: number): boolean {
  return status === 204 || status === 304
}

async function* encoded(chunks: AsyncIterable<string>): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder()
  for await (const chunk of chunks) yield encoder.encode(chunk)
}

/** The parts of a Hono context that the mount reads; on Node `env` has the incoming message. */
export interface HonoContext {
  readonly req: { readonly raw: Request }
  readonly env?: unknown
}

/** Returns the address of the peer of a Hono request. */
export function peerOf({ env }: HonoContext): string | undefined {
  const { incoming } = (env ?? {}) as { readonly incoming?: Pick<IncomingMessage, 'socket'> }
  return incoming?.socket.remoteAddress
}
