/**
 * Instants as text: ISO 8601 in the form of RFC 3339, which both CloudEvents and the wire envelope use. The years 0 to
 * 9999, because that form has four digits for them.
 */

/** The first instant that can be written. */
export const earliestInstantMs: number = Date.parse('0000-01-01T00:00:00.000Z')
/** The last one. */
export const latestInstantMs: number = Date.parse('9999-12-31T23:59:59.999Z')

const rfc3339 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[+-]\d{2}:\d{2})$/i

/** Epoch milliseconds as text, in UTC. */
export function formatInstant(ms: number): string {
  return new Date(ms).toISOString()
}

/**
 * Text as epoch milliseconds; what is finer is cut off. Undefined for anything else, also for a time without an offset:
 * it would mean another instant on each machine.
 */
export function parseInstant(text: string): number | undefined {
  if (!rfc3339.test(text)) return undefined
  const ms = Date.parse(text.toUpperCase())
  return Number.isNaN(ms) ? undefined : ms
}
