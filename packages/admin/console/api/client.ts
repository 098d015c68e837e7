/** The only place of the console that sends requests. */

import { EventParser, type ServerEvent } from './event-parser.ts'
import { ProblemError, readProblem, unreachable } from './problem.ts'
import { type AnswerOf, type RequestOf, type RouteName, type WireRequest, wireRequest } from './request.ts'

/** The mount path, with a final slash. The script lies in `assets/` below it. */
export const base: URL = new URL(/* @vite-ignore */ '../', import.meta.url)

/** How a request is sent. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined
  /** The reason of a change, for requests without a body. */
  readonly reason?: string | undefined
  /** Sent with a change: the same key gets the first answer again. */
  readonly idempotencyKey?: string | undefined
  /** The version that a change is meant for: another one is refused. */
  readonly ifMatch?: string | undefined
}

/**
 * Sends a request and returns its answer.
 * @throws ProblemError; DOMException when its signal aborts
 */
export async function call<R extends RouteName>(
  name: R,
  request: RequestOf<R>,
  options: CallOptions = {},
): Promise<AnswerOf<R>> {
  const response = await send(wireRequest(name, request), options)
  const text = await response.text().catch((error: unknown) => {
    throw isAbort(error) ? error : new ProblemError(unreachable(false))
  })
  if (!response.ok) throw new ProblemError(readProblem(response.status, response.statusText, text))
  const isJson = response.headers.get('content-type')?.includes('json') === true
  return (isJson ? JSON.parse(text) : text) as AnswerOf<R>
}

/** Sends a GET request and yields its server-sent events until it ends. @throws ProblemError */
export async function* stream(
  request: Pick<WireRequest, 'path'>,
  options: { readonly signal: AbortSignal; readonly lastEventId?: string | undefined },
): AsyncGenerator<ServerEvent> {
  const headers = {
    accept: 'text/event-stream',
    ...(options.lastEventId === undefined ? {} : { 'last-event-id': options.lastEventId }),
  }
  const response = await fetched({ method: 'GET', path: request.path, body: undefined }, headers, options.signal)
  if (!response.ok) throw new ProblemError(readProblem(response.status, response.statusText, await response.text()))
  if (response.body === null) return
  const parser = new EventParser()
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) yield* parser.take(read.value)
  } finally {
    await reader.cancel().catch(() => {})
  }
}

/** Downloads bytes below the mount path. @throws ProblemError */
export async function download(path: string, signal?: AbortSignal): Promise<Uint8Array> {
  const response = await fetched({ method: 'GET', path, body: undefined }, {}, signal)
  if (!response.ok) throw new ProblemError(readProblem(response.status, response.statusText, await response.text()))
  return new Uint8Array(await response.arrayBuffer())
}

function send(request: WireRequest, { signal, reason, idempotencyKey, ifMatch }: CallOptions): Promise<Response> {
  const isChange = request.method !== 'GET'
  const headers = {
    accept: 'application/json, application/problem+json;q=0.9, */*;q=0.1',
    ...(isChange ? { 'waybill-csrf': '1', 'idempotency-key': idempotencyKey ?? newIdempotencyKey() } : {}),
    ...(request.body === undefined ? {} : { 'content-type': 'application/json' }),
    ...(reason === undefined || reason === '' ? {} : { 'waybill-reason': encodeURIComponent(reason) }),
    ...(ifMatch === undefined ? {} : { 'if-match': ifMatch }),
  }
  return fetched(request, headers, signal)
}

async function fetched(
  { method, path, body }: WireRequest,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal | undefined,
): Promise<Response> {
  let response: Response
  try {
    response = await fetch(new URL(path, base), {
      method,
      headers,
      cache: 'no-store',
      credentials: 'same-origin',
      redirect: 'manual',
      referrerPolicy: 'no-referrer',
      ...(body === undefined ? {} : { body }),
      ...(signal === undefined ? {} : { signal }),
    })
  } catch (error) {
    if (isAbort(error)) throw error
    throw new ProblemError(unreachable(method !== 'GET'))
  }
  // The API never redirects: a host does, to its login.
  if (response.type === 'opaqueredirect') throw new ProblemError(readProblem(401, 'Not logged in', ''))
  return response
}

/** Returns a key for one change; its repeats send the same. `crypto.randomUUID` is missing without https. */
export function newIdempotencyKey(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** Returns whether a request was ended by its signal. */
export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError'
}
