/** Classes of headers, which decide who may change them. Pure. */

import { cloudEventsPrefix, enginePrefix } from '@waybill/core/internal'

/** LOCKED: identity, version and route of a record. SENSITIVE: changes who the event is about. CUSTOM: all others. */
export type HeaderClass = 'LOCKED' | 'SENSITIVE' | 'CUSTOM'

const locked: ReadonlySet<string> = new Set([
  'id',
  'eventtype',
  'eventversion',
  'occurredat',
  'payloadencoding',
  'content-type',
  'traceparent',
  'tracestate',
  'baggage',
])
const sensitive: ReadonlySet<string> = new Set(['tenantid', 'aggregatetype', 'aggregateversion', 'authorization'])

/** Returns the class of a header. Case does not matter: some clients write another one. */
export function headerClassOf(name: string): HeaderClass {
  const lower = name.toLowerCase()
  if (lower.startsWith(enginePrefix) || lower.startsWith(cloudEventsPrefix) || locked.has(lower)) return 'LOCKED'
  return sensitive.has(lower) ? 'SENSITIVE' : 'CUSTOM'
}
