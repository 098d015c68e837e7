import type { Logger, Metrics, Runtime } from '@waybill/core'
import type { FoldStop } from '../fold/fold-batch.ts'

/** The metrics of a projection. */
export const projectionMetrics = {
  events: 'projection.events',
  rows: 'projection.rows.written',
  quarantined: 'projection.quarantined.keys',
} as const

/** Reports the events and quarantined keys of a projection. Applied, repeated and dead events add up to its records. */
export class ProjectionTelemetry {
  readonly #projection: string
  readonly #metrics: Metrics
  readonly #logger: Logger

  constructor(projection: string, { metrics, logger }: Pick<Runtime, 'metrics' | 'logger'>) {
    this.#projection = projection
    this.#metrics = metrics
    this.#logger = logger
  }

  applied(applied: number, repeated: number, rows: number): void {
    if (applied > 0) this.#count('applied', applied)
    if (repeated > 0) this.#count('repeated', repeated)
    if (rows > 0) this.#metrics.counter(projectionMetrics.rows, { projection: this.#projection }, rows)
  }

  /** Counts an event that becomes a dead letter. */
  stopped(reason: FoldStop['reason']): void {
    this.#count(`dead_${reason.toLowerCase()}`, 1)
  }

  quarantined({ key, reason, expected, found, error }: FoldStop, keys: number): void {
    this.#metrics.gauge(projectionMetrics.quarantined, { projection: this.#projection }, keys)
    const fields = { projection: this.#projection, key, reason, expected, found, error: error.message }
    this.#logger.error(fields, 'Key quarantined')
  }

  #count(outcome: string, events: number): void {
    this.#metrics.counter(projectionMetrics.events, { projection: this.#projection, outcome }, events)
  }
}
