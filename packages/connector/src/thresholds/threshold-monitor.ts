/**
 * Compares the figures of this process with their thresholds. It has no timer: the connector measures every five seconds,
 * and its last measurement is `eventbus.health`. The statuses are assessed then, and whenever a report is requested.
 */

import { type Metrics, type Runtime, systemRuntime } from '@waybill/core'
import { engineChannel } from '@waybill/core/internal'
import { metricName } from '../binding/binding-telemetry.ts'
import { type Figure, FigureBook, type FigureSubject } from './figure-book.ts'
import { figures, type ThresholdFigure } from './figures.ts'
import {
  assessThreshold,
  isAbove,
  type Threshold,
  type ThresholdStatus,
  thresholdSeverity,
  worstStatus,
} from './threshold.ts'
import {
  type ResolvedMonitorOptions,
  resolveMonitorOptions,
  type ThresholdMonitorOptions,
} from './threshold-options.ts'

/** A figure with its status. */
export interface ThresholdReading {
  readonly figure: ThresholdFigure
  /** The binding and its cluster, or the topic. */
  readonly subject: FigureSubject
  readonly value: number
  readonly status: ThresholdStatus
  /** False for an unusual value that is not above a threshold yet. */
  readonly inHealthyRange: boolean
  readonly threshold: Threshold
  /** The page that says what the figure means, how to look and how to fix. */
  readonly runbook: string
}

/** The figures of this process. */
export interface ThresholdReport {
  /** The worst status of all readings. Check `connector.health()` too: a figure that is not measured has no reading. */
  readonly status: ThresholdStatus
  /** The worst first. */
  readonly readings: readonly ThresholdReading[]
}

/** Compares the figures of this process with their thresholds. */
export interface ThresholdMonitor {
  /** Pass it as `metrics` of the runtime of the connector and of its Kafka clients. */
  readonly metrics: Metrics
  readonly report: () => ThresholdReport
}

/** The times since which a figure has been above its limits. */
interface Standing {
  readonly warning: number | undefined
  readonly critical: number | undefined
  readonly status: ThresholdStatus
}

const runbooks = 'https://github.com/waybill/waybill/blob/main/docs/how-to/runbooks'
const thresholdChanged = engineChannel('threshold:changed')

/** Creates a monitor. @throws OptionsError */
export function createThresholdMonitor(options: ThresholdMonitorOptions = {}): ThresholdMonitor {
  const resolved = resolveMonitorOptions(options)
  const runtime = resolved.runtime ?? systemRuntime
  const full = warnOnce(runtime)
  const book = new FigureBook(resolved.isWatched, () => runtime.clock.monotonic(), full)
  const assessor = new Assessor(book, resolved, runtime)
  const sink = book.sink(resolved.metrics)
  return Object.freeze({
    metrics: Object.freeze({
      ...sink,
      gauge: (name, labels, value) => {
        sink.gauge(name, labels, value)
        if (name === metricName.health) assessor.assess()
      },
    } satisfies Metrics),
    report() {
      const readings = assessor.assess()
      return Object.freeze({ status: worstStatus(readings.map(({ status }) => status)), readings })
    },
  })
}

class Assessor {
  readonly #book: FigureBook
  readonly #options: ResolvedMonitorOptions
  readonly #runtime: Pick<Runtime, 'clock' | 'logger'>
  #standings = new Map<string, Standing>()

  constructor(book: FigureBook, options: ResolvedMonitorOptions, runtime: Pick<Runtime, 'clock' | 'logger'>) {
    this.#book = book
    this.#options = options
    this.#runtime = runtime
  }

  assess(): readonly ThresholdReading[] {
    const readings = this.#book.figures().flatMap((figure) => {
      const threshold = this.#options.thresholdOf(figure.figure, figure.subject['binding'])
      return threshold === false ? [] : [this.#read(figure, threshold)]
    })
    return readings.toSorted((one, other) => thresholdSeverity[other.status] - thresholdSeverity[one.status])
  }

  #read({ key, figure, subject, value }: Figure, threshold: Threshold): ThresholdReading {
    const now = this.#runtime.clock.monotonic()
    const before = this.#standings.get(key)
    const warning = isAbove(value, threshold.warningAbove) ? (before?.warning ?? now) : undefined
    const critical = isAbove(value, threshold.criticalAbove) ? (before?.critical ?? now) : undefined
    const status = assessThreshold(
      { value, aboveWarningMs: now - (warning ?? now), aboveCriticalMs: now - (critical ?? now) },
      threshold,
    )
    this.#standings.set(key, { warning, critical, status })
    const inHealthyRange = status === 'HEALTHY' && value < threshold.healthyBelow
    const runbook = `${runbooks}/${figures[figure].runbook}.md`
    const reading = Object.freeze({ figure, subject, value, status, inHealthyRange, threshold, runbook })
    this.#announce(before?.status ?? 'HEALTHY', reading)
    return reading
  }

  #announce(from: ThresholdStatus, { figure, subject, value, status, runbook }: ThresholdReading): void {
    if (from === status) return
    const { logger } = this.#runtime
    logger[status === 'HEALTHY' ? 'info' : 'warn'](
      { figure, ...subject, value, from, to: status, runbook },
      'Threshold status changed',
    )
    if (thresholdChanged.hasSubscribers) thresholdChanged.publish({ figure, subject, value, from, to: status, runbook })
  }
}

function warnOnce({ logger }: Pick<Runtime, 'logger'>): () => void {
  let warned = false
  return () => {
    if (!warned) logger.warn({}, 'Threshold figures refused: too many subjects')
    warned = true
  }
}
