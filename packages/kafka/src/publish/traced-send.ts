/** Spans of events that are created and sent. */

import type { EventEnvelope, Tracer } from '@waybill/core'
import {
  type CreateSpan,
  type EventMeta,
  headerEntries,
  type SendScope,
  traceHeader,
  wantsSpan,
} from '@waybill/core/internal'

/** Returns the scope of sending a stored event. */
export function scopeOf({ eventId, headers }: EventEnvelope, topic: string, attempt: number | undefined): SendScope {
  const traceparent = headers[traceHeader.traceparent]
  return { topic, traceparent, tracestate: headers[traceHeader.tracestate], eventId, attempt }
}

/** Sends within a span, if the tracer wants one. */
export async function tracedSend<T>(tracer: Tracer, scope: SendScope, send: () => Promise<T>): Promise<T> {
  if (!wantsSpan(tracer, scope.traceparent)) return send()
  const span = tracer.send(scope)
  try {
    const result = await span.run(send)
    span.sent(isPlace(result) ? result : undefined)
    return result
  } catch (error) {
    span.failed(error)
    throw error
  }
}

/** A sender with a deadline of its own returns no place. */
function isPlace(result: unknown): result is { readonly partition: number; readonly offset: bigint } {
  return typeof result === 'object' && result !== null && 'partition' in result && 'offset' in result
}

/** The metadata of an event with the headers of its span. An event that brings its own context gets no span. */
export interface TracedMeta {
  readonly meta: EventMeta | undefined
  readonly span: CreateSpan | undefined
}

/** Begins the span of an event that is published without an outbox. */
export function tracedMeta(tracer: Tracer | undefined, eventType: string, meta: EventMeta | undefined): TracedMeta {
  const headers = Object.fromEntries(headerEntries(meta?.headers ?? []))
  if (tracer === undefined || headers[traceHeader.traceparent] !== undefined) return { meta, span: undefined }
  const span = tracer.create({ eventType, eventId: meta?.eventId, outbox: undefined })
  return { meta: { ...meta, headers: { ...span.headers, ...headers } }, span }
}
