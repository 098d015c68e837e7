/** W3C Trace Context and Baggage as headers, independent of the propagators that the application sets. */

import {
  type Baggage,
  baggageEntryMetadataFromString,
  type Context,
  createTraceState,
  isSpanContextValid,
  propagation,
  type SpanContext,
} from '@opentelemetry/api'
import { isTraceparent } from '@waybill/core/internal'

/** Returns the context of a `traceparent`; undefined for none or a broken one. */
export function spanContextOf(traceparent: string | undefined, tracestate?: string): SpanContext | undefined {
  if (traceparent === undefined || !isTraceparent(traceparent)) return undefined
  const [, traceId = '', spanId = '', flags = '00'] = traceparent.split('-')
  return {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16),
    isRemote: true,
    ...(tracestate === undefined ? {} : { traceState: createTraceState(tracestate) }),
  }
}

/** Returns the `traceparent` of a context; undefined for the one of a tracer that does nothing. */
export function traceparentOf(context: SpanContext): string | undefined {
  if (!isSpanContextValid(context)) return undefined
  return `00-${context.traceId}-${context.spanId}-${flagsOf(context)}`
}

/** Returns the trace flags as two hexadecimal digits. */
export function flagsOf({ traceFlags }: SpanContext): string {
  return traceFlags.toString(16).padStart(2, '0')
}

/** Bounds of the Baggage specification. */
const maxBaggageBytes = 8_192
const maxBaggageMembers = 64

/** Returns the baggage header of a context without these names; undefined for none, null beyond the bounds. */
export function baggageHeaderOf(context: Context, denied: ReadonlySet<string>): string | null | undefined {
  const entries = propagation.getBaggage(context)?.getAllEntries() ?? []
  const members = entries
    .filter(([name]) => !denied.has(name.toLowerCase()))
    .map(([name, { value, metadata }]) => {
      const properties = metadata === undefined ? '' : `;${metadata.toString()}`
      return `${encodeURIComponent(name)}=${encodeURIComponent(value)}${properties}`
    })
  if (members.length === 0) return undefined
  const text = members.join(',')
  return members.length > maxBaggageMembers || text.length > maxBaggageBytes ? null : text
}

/** Returns the baggage of a header. Members that cannot be read are left out. */
export function baggageOf(header: string | undefined): Baggage | undefined {
  if (header === undefined || header.length > maxBaggageBytes) return undefined
  const entries = header.split(',').flatMap((member) => memberOf(member))
  return entries.length === 0
    ? undefined
    : propagation.createBaggage(Object.fromEntries(entries.slice(0, maxBaggageMembers)))
}

type Member = readonly [
  name: string,
  entry: { value: string; metadata?: ReturnType<typeof baggageEntryMetadataFromString> },
]

function memberOf(text: string): Member[] {
  const [pair = '', ...properties] = text.split(';')
  const at = pair.indexOf('=')
  if (at <= 0) return []
  try {
    const name = decodeURIComponent(pair.slice(0, at).trim())
    const value = decodeURIComponent(pair.slice(at + 1).trim())
    if (properties.length === 0) return [[name, { value }]]
    return [[name, { value, metadata: baggageEntryMetadataFromString(properties.join(';')) }]]
  } catch {
    return [] // Not percent-encoded text.
  }
}
