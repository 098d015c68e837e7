import type { Clock, Logger, Metrics, Runtime } from '@waybill/core'
import type { FoldStop } from '../fold/fold-batch.ts'

/** The metrics of a projection. */
export const projectionMetrics = {
  events: 'projection.events',
  rows: 'projection.rows.written',
  quarantined: 'projection.quarantined.keys',
} as const

/** Another process may release keys: their number is read again after this time, while there are any. */
const countAgainMs = 15_000

/** Reports the events and quarantined keys of a projection. All outcomes add up to its records. */
export class ProjectionTelemetry {
  readonly #projection: string
  readonly #findsGaps: boolean
  readonly #metrics: Metrics
  readonly #logger: Logger
  readonly #clock: Clock
  /** The number of quarantined keys, and when it was read; undefined before the first time. */
  #known: { readonly keys: number; readonly at: number } | undefined

  constructor(
    { name, versions }: { readonly name: string; readonly versions: 'AGGREGATE' | 'POSITION' },
    { metrics, logger, clock }: Pick<Runtime, 'metrics' | 'logger' | 'clock'>,
  ) {
    this.#projection = name
    this.#findsGaps = versions === 'AGGREGATE'
    this.#metrics = metrics
    this.#logger = logger
    this.#clock = clock
  }

  applied(applied: number, repeated: number, rows: number): void {
    if (applied > 0) this.#count('applied', applied)
    if (repeated > 0) this.#count('repeated', repeated)
    if (rows > 0) this.#metrics.counter(projectionMetrics.rows, { projection: this.#projection }, rows)
  }

  /** Counts records of topics that only another revision reads. */
  passed(records: number): void {
    this.#count('passed_over', records)
  }

  /** Counts an event that becomes a dead letter, and logs the first one of its key. */
  stopped({ key, reason, expected, found, error }: FoldStop): void {
    this.#count(`dead_${reason.toLowerCase()}`, 1)
    const isFirst = reason === 'GAP' || reason === 'POISON'
    if (!isFirst || !this.#findsGaps) return
    const fields = { projection: this.#projection, key, reason, expected, found, error: error.message }
    this.#logger.error(fields, 'Key quarantined')
  }

  /** Counts a record that is no event. */
  unreadable(): void {
    this.#count('dead_input', 1)
  }

  /** Returns whether the number of quarantined keys should be read. */
  isCountDue(): boolean {
    if (this.#known === undefined) return true
    return this.#known.keys > 0 && this.#clock.monotonic() - this.#known.at >= countAgainMs
  }

  /** Reports the number of quarantined keys. */
  counted(keys: number): void {
    this.#known = { keys, at: this.#clock.monotonic() }
    this.#metrics.gauge(projectionMetrics.quarantined, { projection: this.#projection }, keys)
  }

  #count(outcome: string, events: number): void {
    this.#metrics.counter(projectionMetrics.events, { projection: this.#projection, outcome }, events)
  }
}
