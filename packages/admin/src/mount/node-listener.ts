import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AdminRequest, RequestBody } from '../http/admin-request.ts'
import type { AdminResponse } from '../http/admin-response.ts'

/** Answers a request of node:http. Express and Nest pass the same objects, with the mount path removed from the URL. */
export type NodeListener = (request: IncomingMessage, response: ServerResponse) => void

/** Answers requests, whatever the framework. */
export type AdminHandler = (request: AdminRequest, body: RequestBody, leave: AbortSignal) => Promise<AdminResponse>

/** Creates the listener of a handler. */
export function nodeListener(handle: AdminHandler, onFailure: (error: unknown) => void): NodeListener {
  return (incoming, outgoing) => {
    const left = new AbortController()
    outgoing.once('close', () => left.abort())
    answer(handle, incoming, outgoing, left.signal).catch((error: unknown) => {
      // The answer has begun, so that it can only be cut off; the client sees it as incomplete.
      if (!left.signal.aborted) onFailure(error)
      outgoing.destroy()
    })
  }
}

async function answer(
  handle: AdminHandler,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  leave: AbortSignal,
): Promise<void> {
  const request: AdminRequest = {
    method: incoming.method ?? 'GET',
    url: incoming.url || '/',
    originalPath: originalPathOf(incoming),
    headers: headersOf(incoming),
    remoteAddress: incoming.socket.remoteAddress ?? '',
  }
  const { status, headers, body } = await handle(request, bodyOf(incoming), leave)
  // A body that was refused is not read to its end, so the connection cannot be used again.
  const close = incoming.readableEnded || !hasBody(incoming) ? {} : { connection: 'close' }
  if (typeof body === 'string' || body instanceof Uint8Array) {
    const bytes = Buffer.from(body as string)
    const length = status === 304 ? {} : { 'content-length': bytes.length }
    outgoing.writeHead(status, { ...headers, ...close, ...length })
    outgoing.end(bytes)
    return
  }
  outgoing.writeHead(status, headers)
  outgoing.flushHeaders()
  for await (const chunk of body) {
    if (leave.aborted) return
    if (!outgoing.write(chunk)) await once(outgoing, 'drain', { signal: leave })
  }
  outgoing.end()
}

/** Express and Nest keep the URL before they remove the mount path, and so does the Fastify plugin. */
function originalPathOf(incoming: IncomingMessage & { readonly originalUrl?: unknown }): string | undefined {
  const { originalUrl } = incoming
  return typeof originalUrl === 'string' ? originalUrl.replace(/[?#].*$/s, '') : undefined
}

/** Headers that come more than once are joined, as Node joins those it knows. */
function headersOf({ headers }: IncomingMessage): Record<string, string | undefined> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : value]),
  )
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}

function bodyOf(incoming: IncomingMessage): RequestBody {
  if (!hasBody(incoming)) return undefined
  // A body parser has read it: waiting for it would never end.
  return incoming.readableDidRead || incoming.readableEnded ? 'CONSUMED' : incoming
}
