/** Finds the thresholds of a figure in the report of the server. Pure. */

import { grouped } from '../../format/number.ts'
import { duration } from '../../format/time.ts'
import { overviewText } from '../../text/overview.ts'

/** A figure that the server compares with its thresholds. */
export interface Reading {
  readonly figure: string
  readonly subject: Readonly<Record<string, string>>
  readonly value: number
  /** HEALTHY, WARNING or CRITICAL. */
  readonly status: string
  readonly threshold: { readonly warningAbove: number | false; readonly criticalAbove: number | false }
  /** The page that says how to look and how to fix. */
  readonly runbook: string
}

/** How a figure is shown: its color, and its limits as a title. */
export interface FigureLevel {
  readonly tone: 'warn' | 'bad' | undefined
  readonly title: string | undefined
}

const severity: Readonly<Record<string, number>> = { HEALTHY: 0, WARNING: 1, CRITICAL: 2 }

/** Returns the readings of a health answer; none if the server has no thresholds. */
export function readingsOf(thresholds: Readonly<Record<string, unknown>> | null | undefined): readonly Reading[] {
  const readings = thresholds?.['readings']
  return Array.isArray(readings) ? (readings as readonly Reading[]) : []
}

/** Returns the level of a figure: of one binding, or the worst of all. */
export function levelOf(
  readings: readonly Reading[],
  figure: string,
  binding?: { readonly name: string; readonly cluster: string },
): FigureLevel {
  const ours = readings.filter(
    (one) =>
      one.figure === figure &&
      (binding === undefined ||
        (one.subject['binding'] === binding.name && one.subject['cluster'] === binding.cluster)),
  )
  const [worst] = ours.toSorted((one, other) => rank(other) - rank(one))
  if (worst === undefined) return { tone: undefined, title: undefined }
  const tones = [undefined, 'warn', 'bad'] as const
  return { tone: tones[rank(worst)], title: limitsOf(worst) }
}

/** Returns the limits of a figure in words: "Warning above 5 min, critical above 15 min". */
export function limitsOf({ figure, threshold: { warningAbove, criticalAbove } }: Reading): string {
  const limits = [
    ...(warningAbove === false ? [] : [overviewText.warningAbove(amountOf(figure, warningAbove))]),
    ...(criticalAbove === false ? [] : [overviewText.criticalAbove(amountOf(figure, criticalAbove))]),
  ]
  return limits.length === 0 ? '' : `${limits.join(', ')}.`
}

/** Returns a value with its unit. */
export function amountOf(figure: string, value: number): string {
  if (figure.endsWith('Ms')) return duration(value)
  if (figure.endsWith('Seconds')) return duration(value * 1_000)
  const rounded = Number.isInteger(value) ? grouped(value) : value.toFixed(1)
  return figure.endsWith('PerMinute') ? `${rounded}/min` : rounded
}

function rank({ status }: Reading): number {
  return severity[status] ?? 0
}
