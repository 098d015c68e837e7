/** The thresholds in effect: defaults, and the options over them. */

import type { Metrics, Runtime } from '@waybill/core'
import {
  durationMs,
  hasMethods,
  instance,
  mapOf,
  nested,
  number,
  optional,
  orFalse,
  type Report,
  type Rule,
  resolveOptions,
} from '@waybill/core/option'
import { runtimeRule } from '@waybill/kafka/internal'
import { figureNames, figures, type ThresholdFigure } from './figures.ts'
import type { Threshold } from './threshold.ts'

/** The limits of one figure that differ from its default. */
export type ThresholdChange = { readonly [L in keyof Threshold]?: Threshold[L] | undefined }

/** Thresholds by figure. What is left out keeps its default; false turns the figure off. */
export type ThresholdOptions = { readonly [F in ThresholdFigure]?: ThresholdChange | false | undefined }

/** Options of `createThresholdMonitor`. */
export interface ThresholdMonitorOptions {
  /** @defaultValue `defaultThresholds` */
  readonly thresholds?: ThresholdOptions
  /** Thresholds of single bindings by their names, over those of all. @defaultValue none */
  readonly bindings?: Readonly<Record<string, ThresholdOptions>>
  /** Receives every measurement too, such as an exporter. @defaultValue measurements are not passed on */
  readonly metrics?: Metrics
  /** Its clock and logger are used. @defaultValue the system runtime */
  readonly runtime?: Runtime
}

const atOnce = { warningAfterMs: 0, criticalAfterMs: 0 } as const

/** The thresholds of the specification. A figure that is false has none unless you set one. */
export const defaultThresholds: Readonly<Record<ThresholdFigure, Threshold | false>> = Object.freeze({
  lagRecords: { healthyBelow: 1_000, warningAbove: 10_000, criticalAbove: 100_000, ...atOnce },
  lagSeconds: { healthyBelow: 60, warningAbove: 300, criticalAbove: 900, ...atOnce },
  deadLettersPerMinute: { healthyBelow: 1, warningAbove: 10, criticalAbove: 100, ...atOnce },
  produceP99Ms: { healthyBelow: 100, warningAbove: 500, criticalAbove: 2_000, ...atOnce },
  rebalancesPerHour: { healthyBelow: 1, warningAbove: 5, criticalAbove: 20, ...atOnce },
  underReplicatedPartitions: {
    healthyBelow: 1,
    warningAbove: 0,
    warningAfterMs: 0,
    criticalAbove: 0,
    criticalAfterMs: 300_000,
  },
  rebalancesPerTenMinutes: false,
  failedRebalancesPerTenMinutes: false,
  handlerMeanMs: false,
  stalledSeconds: false,
  busyRatio: false,
})

/** The stricter thresholds of a read model, for `bindings` of `createThresholdMonitor`. */
export const projectionThresholds: ThresholdOptions = Object.freeze({
  lagRecords: { healthyBelow: 1_000, warningAbove: 1_000, warningAfterMs: 300_000 },
  rebalancesPerTenMinutes: { healthyBelow: 1, warningAbove: 2 },
  failedRebalancesPerTenMinutes: { healthyBelow: 1, criticalAbove: 0 },
  handlerMeanMs: { healthyBelow: 500, warningAbove: 500 },
  stalledSeconds: { healthyBelow: 60, criticalAbove: 300 },
  busyRatio: { healthyBelow: 0.9, warningAbove: 0.9, warningAfterMs: 600_000 },
})

const thresholdRule = optional(
  orFalse(
    nested({
      healthyBelow: optional(number({ min: 0 })),
      warningAbove: optional(orFalse(number({ min: 0 }))),
      warningAfterMs: optional(durationMs()),
      criticalAbove: optional(orFalse(number({ min: 0 }))),
      criticalAfterMs: optional(durationMs()),
    }),
  ),
)

const thresholdRules = Object.fromEntries(figureNames.map((figure) => [figure, thresholdRule])) as Readonly<
  Record<ThresholdFigure, typeof thresholdRule>
>

const metricsRule: Rule<Metrics | undefined> = optional(
  instance<Metrics>('Metrics', (value) =>
    ['counter', 'gauge', 'histogram'].every((method) => hasMethods(value, method)),
  ),
)

const monitorRules = {
  thresholds: nested(thresholdRules),
  bindings: mapOf(nested(thresholdRules), { default: {}, because: 'all bindings have the same thresholds' }),
  metrics: metricsRule,
  runtime: runtimeRule,
}

type Table = Readonly<Record<ThresholdFigure, Threshold | false>>

/** Options of a monitor with their defaults. */
export interface ResolvedMonitorOptions {
  readonly metrics: Metrics | undefined
  readonly runtime: Runtime | undefined
  /** The threshold of a figure; `binding` is undefined for figures that belong to no binding. */
  readonly thresholdOf: (figure: ThresholdFigure, binding: string | undefined) => Threshold | false
  /** Returns true if the figure has a threshold for any binding. */
  readonly isWatched: (figure: ThresholdFigure) => boolean
}

/** Applies the defaults. @throws OptionsError */
export function resolveMonitorOptions(given: ThresholdMonitorOptions): ResolvedMonitorOptions {
  const { thresholds, bindings, metrics, runtime } = resolveOptions(
    'createThresholdMonitor',
    monitorRules,
    given,
    (options, report) => {
      const ofAll = tableOver(defaultThresholds, options.thresholds)
      checkOrder('thresholds', options.thresholds, ofAll, report)
      for (const [name, own] of Object.entries(options.bindings)) {
        const path = `bindings[${JSON.stringify(name)}]`
        checkOrder(path, own, tableOver(ofAll, own), report)
        checkSubjects(path, own, report)
      }
    },
  )
  const all = tableOver(defaultThresholds, thresholds)
  const own = new Map(Object.entries(bindings).map(([name, options]) => [name, tableOver(all, options)]))
  return {
    metrics,
    runtime,
    thresholdOf: (figure, binding) => (own.get(binding ?? '') ?? all)[figure],
    isWatched: (figure) => [all, ...own.values()].some((table) => table[figure] !== false),
  }
}

/** Returns the thresholds of a table with options over them. */
function tableOver(under: Table, over: ThresholdOptions): Table {
  const entries = figureNames.map((figure) => [figure, thresholdOver(under[figure], over[figure])])
  return Object.freeze(Object.fromEntries(entries) as Record<ThresholdFigure, Threshold | false>)
}

function thresholdOver(under: Threshold | false, over: ThresholdChange | false | undefined): Threshold | false {
  if (over === undefined) return under
  if (over === false) return false
  const { healthyBelow, ...given } = Object.fromEntries(
    Object.entries(over).filter(([, value]) => value !== undefined),
  ) as Partial<Threshold>
  const limits = { ...(under || { warningAbove: false, criticalAbove: false, ...atOnce }), ...given } as const
  const lowest = limits.warningAbove === false ? limits.criticalAbove : limits.warningAbove
  return Object.freeze({ ...limits, healthyBelow: healthyBelow ?? (under ? under.healthyBelow : lowest || 0) })
}

function checkOrder(path: string, given: ThresholdOptions, table: Table, report: Report): void {
  for (const figure of figureNames) {
    const threshold = table[figure]
    if (given[figure] === undefined || threshold === false) continue
    const { warningAbove, criticalAbove } = threshold
    if (warningAbove !== false && criticalAbove !== false && warningAbove > criticalAbove)
      report(`${path}.${figure}`, `has warningAbove ${warningAbove}, above its criticalAbove ${criticalAbove}`)
  }
}

function checkSubjects(path: string, own: ThresholdOptions, report: Report): void {
  for (const figure of figureNames) {
    const { subject } = figures[figure]
    if (own[figure] !== undefined && !subject.includes('binding'))
      report(`${path}.${figure}`, 'belongs to no binding; set it in thresholds')
  }
}
