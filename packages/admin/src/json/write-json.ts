/** Writes an answer: 64-bit numbers are decimal strings, because parsers round larger ones; dates are RFC 3339 in UTC. */
export function writeJson(value: unknown): string {
  return JSON.stringify(value, (_name, one: unknown) => {
    if (typeof one === 'bigint') return one.toString()
    return one instanceof Map ? Object.fromEntries(one) : one
  })
}

/** Returns an instant as text; null if it is unknown. */
export function instantOf(epochMs: number | undefined | null): string | null {
  if (epochMs === undefined || epochMs === null || !Number.isFinite(epochMs) || Math.abs(epochMs) > 8.64e15) return null
  return new Date(epochMs).toISOString()
}
