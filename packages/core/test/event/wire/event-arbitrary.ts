import { createEnvelope, type EventEnvelope } from '@waybill/core'
import {
  cloudEventsPrefix,
  enginePrefix,
  eventHeader,
  processingAttemptsHeader,
  traceHeader,
} from '@waybill/core/internal'
import fc from 'fast-check'
import { earliestInstantMs, latestInstantMs } from '../../../src/event/instant.ts'

/** Any text that UTF-8 can hold. */
export const anyText: fc.Arbitrary<string> = fc.string({ unit: 'binary' })

const someText = fc.string({ unit: 'binary', minLength: 1 })

/**
 * JSON text as other writers produce it: with blanks, escapes, numbers that a double cannot hold; never with
 * `__proto__`.
 */
export const jsonText: fc.Arbitrary<string> = fc
  .oneof(
    fc.tuple(fc.jsonValue(), fc.constantFrom(0, 1, 4)).map(([value, indent]) => JSON.stringify(value, null, indent)),
    fc.constantFrom('12345678901234567890', ' [1.0, 1e2 , -0]\n', '{"a":1,"a":"\\u00e9"}', '"\\ud800"'),
  )
  .filter((json) => !json.includes('__proto__'))

/** The same, but an object. */
export const objectText: fc.Arbitrary<string> = fc
  .tuple(jsonText, fc.constantFrom('', ' ', '\n\t'))
  .map(([json, blank]) => `${blank}{${blank}"a"${blank}:${blank}${json}${blank}}${blank}`)

const reserved = new Set<string>([
  ...Object.values(eventHeader),
  ...Object.values(traceHeader),
  processingAttemptsHeader,
])

const ownHeaders = fc.dictionary(
  anyText.filter(
    (name) => !reserved.has(name) && !name.startsWith(enginePrefix) && !name.startsWith(cloudEventsPrefix),
  ),
  anyText,
  { noNullPrototype: true },
)

const knownHeaders = fc.record(
  {
    [eventHeader.eventVersion]: fc.integer({ min: 1, max: 2 ** 31 - 1 }).map(String),
    [eventHeader.aggregateVersion]: fc.nat({ max: Number.MAX_SAFE_INTEGER }).map(String),
    [traceHeader.traceparent]: fc.constant('00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'),
    [traceHeader.tracestate]: fc.constant('a=b'),
  },
  { requiredKeys: [] },
)

/** Returns an arbitrary envelope whose payload is drawn from `payload`. */
export function anyEnvelope(payload: fc.Arbitrary<string | Uint8Array>): fc.Arbitrary<EventEnvelope> {
  return fc
    .record({
      eventId: someText,
      eventType: someText,
      occurredAt: fc.integer({ min: earliestInstantMs, max: latestInstantMs }),
      aggregateType: someText,
      aggregateId: fc.option(anyText),
      tenantId: fc.option(anyText),
      headers: fc.tuple(ownHeaders, knownHeaders).map(([own, known]) => ({ ...own, ...known })),
      payload,
    })
    .map(({ payload: given, ...fields }) => {
      const input = typeof given === 'string' ? { payloadJson: given } : { payloadBytes: given }
      return createEnvelope({ ...fields, ...input })
    })
}
