import type { EventEnvelope, Runtime } from '@waybill/core'

/** While a broker is away every delivery fails, and one line says as much as thousands. */
const lineEveryMs = 10_000

/** Tells an operator that deliveries fail: with the first failure, and then of all since the line before. */
export class FailureLine {
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
    logger.warn(
      { eventId, eventType, attempt, failed: this.#failed, error },
      'A delivery failed; the event is tried again',
    )
    this.#nextAt = now + lineEveryMs
    this.#failed = 0
  }
}
