import type { EventEnvelope, Runtime } from '@waybill/core'

/**
 * The interval of the log line. During a broker outage every delivery fails, and one line says as much as thousands.
 */
const lineEveryMs = 10_000

/** Logs failed deliveries: the first one, then at each interval the number since the last line. */
export class FailureLog {
  readonly #runtime: Pick<Runtime, 'clock' | 'logger'>
  #nextAt = Number.NEGATIVE_INFINITY
  #failed = 0

  constructor(runtime: Pick<Runtime, 'clock' | 'logger'>) {
    this.#runtime = runtime
  }

  failed({ eventId, eventType }: EventEnvelope, attempt: number, error: string): void {
    const { clock, logger } = this.#runtime
    const now = clock.monotonic()
    this.#failed++
    if (now < this.#nextAt) return
    logger.warn({ eventId, eventType, attempt, failed: this.#failed, error }, 'Delivery failed, retrying')
    this.#nextAt = now + lineEveryMs
    this.#failed = 0
  }
}
