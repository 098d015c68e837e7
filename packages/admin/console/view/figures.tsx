import type { JSX } from 'preact'
import { grouped } from '../format/number.ts'
import { ago, everyTime, fullTime, instantMs, shortTime } from '../format/time.ts'
import { seconds } from '../state/clock.ts'
import { settings } from '../state/settings.ts'

/** A number with grouped digits; a dash where it is not known, which is never 0. */
export function Figure({
  value,
  unit,
  tone,
  title,
}: {
  readonly value: string | number | null | undefined
  readonly unit?: string | undefined
  readonly tone?: string | undefined
  readonly title?: string | undefined
}): JSX.Element {
  if (value === null || value === undefined)
    return (
      <span class="figure unknown" title={title ?? 'Not known'}>
        –
      </span>
    )
  const text = typeof value === 'string' && !/^-?\d+$/.test(value) ? value : grouped(value)
  return (
    <span class={`figure${tone === undefined ? '' : ` tone-${tone}`}`} title={title}>
      {text}
      {unit === undefined ? null : <span class="unit"> {unit}</span>}
    </span>
  )
}

/** An instant; hovering shows both clocks. */
export function Time({
  at,
  isRelative = false,
  isFull = false,
}: {
  readonly at: string | number | null | undefined
  /** Adds how long ago it was. */
  readonly isRelative?: boolean
  readonly isFull?: boolean
}): JSX.Element {
  const ms = typeof at === 'number' ? at : instantMs(at)
  if (ms === undefined) return <span class="unknown">–</span>
  const zone = settings.zone.value
  const text = isFull ? fullTime(ms, zone) : shortTime(ms, seconds.value, zone)
  return (
    <time class="time" dateTime={new Date(ms).toISOString()} title={everyTime(ms)}>
      {text}
      {isRelative ? <span class="muted"> {ago(ms, seconds.value)}</span> : null}
    </time>
  )
}

/** How long ago an instant was, with the instant as its title. */
export function Ago({ at }: { readonly at: string | number | null | undefined }): JSX.Element {
  const ms = typeof at === 'number' ? at : instantMs(at)
  if (ms === undefined) return <span class="unknown">–</span>
  return (
    <time class="time" dateTime={new Date(ms).toISOString()} title={everyTime(ms)}>
      {ago(ms, seconds.value)}
    </time>
  )
}
