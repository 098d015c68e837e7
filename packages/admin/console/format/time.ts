/** How instants and durations are written. */

/** Which clock the user reads. */
export type Zone = 'utc' | 'local'

/** Writes an instant: `06:01:40` today, `2026-11-16 06:01:40` on another day. */
export function shortTime(at: number, now: number, zone: Zone): string {
  const text = fullTime(at, zone)
  return text.slice(0, 10) === fullTime(now, zone).slice(0, 10) ? text.slice(11, 19) : text.slice(0, 19)
}

/** Writes an instant with its day and milliseconds: `2026-11-16 06:01:40.310`. */
export function fullTime(at: number, zone: Zone): string {
  const shifted = zone === 'utc' ? at : at - new Date(at).getTimezoneOffset() * 60_000
  return new Date(shifted).toISOString().slice(0, 23).replace('T', ' ')
}

/** Writes both clocks and the epoch, for a title. */
export function everyTime(at: number): string {
  return `${fullTime(at, 'utc')} UTC\n${fullTime(at, 'local')} ${zoneName('local')}\n${at}`
}

/** Returns the name of a zone. */
export function zoneName(zone: Zone): string {
  return zone === 'utc' ? 'UTC' : (new Intl.DateTimeFormat().resolvedOptions().timeZone ?? 'local')
}

/** Reads an instant of the API. */
export function instantMs(text: string | null | undefined): number | undefined {
  if (text === null || text === undefined) return undefined
  const ms = Date.parse(text)
  return Number.isNaN(ms) ? undefined : ms
}

const steps = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
] as const

/** Writes a duration with its two largest parts at most: `412 ms`, `2.1 s`, `14 min`, `3 h 10 min`, `3 d`. */
export function duration(ms: number): string {
  if (ms <= 0) return '0 s'
  if (ms < 1_000) return `${Math.round(ms)} ms`
  if (ms < 10_000) return `${(ms / 1_000).toFixed(1).replace(/\.0$/, '')} s`
  const at = steps.findIndex(([, length]) => ms >= length)
  const [unit, length] = steps[at] ?? steps[3]
  const count = Math.floor(ms / length)
  const [nextUnit, nextLength] = steps[at + 1] ?? ['ms', 1]
  const rest = Math.floor((ms - count * length) / nextLength)
  const isShort = unit === 's' || count >= 10 || rest === 0
  return isShort ? `${count} ${unit}` : `${count} ${unit} ${rest} ${nextUnit}`
}

/** Writes how long ago something was: `3 s ago`, `now`, `in 12 s`. */
export function ago(at: number, now: number): string {
  const ms = now - at
  if (Math.abs(ms) < 1_000) return 'now'
  return ms > 0 ? `${duration(Math.max(ms, 1_000)).replace(/\.\d/, '')} ago` : `in ${duration(-ms).replace(/\.\d/, '')}`
}
