/** The highest version of a payload's schema: what an integer is in every language that reads the events. */
export const maxEventVersion: number = 2 ** 31 - 1

/** Version of a payload's schema: a whole number from 1. Undefined for anything else. */
export function parseEventVersion(given: unknown): number | undefined {
  return wholeNumber(given, 1, maxEventVersion)
}

/** Version of an aggregate after an event: a whole number from 0. Undefined for anything else. */
export function parseAggregateVersion(given: unknown): number | undefined {
  return wholeNumber(given, 0, Number.MAX_SAFE_INTEGER)
}

function wholeNumber(given: unknown, min: number, max: number): number | undefined {
  const value = typeof given === 'string' && /^\d+$/.test(given) ? Number(given) : given
  return Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max
    ? (value as number)
    : undefined
}
