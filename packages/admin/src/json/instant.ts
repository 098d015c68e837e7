const units: readonly (readonly [letter: string, ms: number])[] = [
  ['W', 604_800_000],
  ['D', 86_400_000],
  ['H', 3_600_000],
  ['M', 60_000],
  ['S', 1_000],
]

/** RFC 3339 with a time zone. */
const rfc3339 = /^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:[Zz]|[+-]\d{2}:\d{2})$/

/** Returns epoch ms of an RFC 3339 instant or of epoch milliseconds; undefined for anything else. */
export function parseInstant(text: string): number | undefined {
  if (/^\d{1,15}$/.test(text)) return Number(text)
  if (!rfc3339.test(text)) return undefined
  const ms = Date.parse(text)
  return Number.isFinite(ms) && ms >= 0 ? ms : undefined
}

/** Returns the milliseconds of an ISO 8601 duration of weeks to seconds, such as P7D or PT12H; undefined for anything else. */
export function parseAge(text: string): number | undefined {
  const match =
    /^P(?:(\d{1,6})W)?(?:(\d{1,6})D)?(?:T(?:(\d{1,8})H)?(?:(\d{1,8})M)?(?:(\d{1,9}(?:\.\d{1,3})?)S)?)?$/.exec(text)
  if (match === null || match.slice(1).every((part) => part === undefined) || text.endsWith('T')) return undefined
  const sum = units.reduce((total, [, ms], index) => total + Number(match[index + 1] ?? 0) * ms, 0)
  return Number.isSafeInteger(Math.round(sum)) ? Math.round(sum) : undefined
}
