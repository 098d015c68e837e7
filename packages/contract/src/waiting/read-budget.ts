import type { Clock } from '@waybill/core'

/** The most that a check reads. */
export interface ReadBounds {
  /** @defaultValue 10,000 */
  readonly maxRecords?: number | undefined
  /** @defaultValue 64 MiB */
  readonly maxBytes?: number | undefined
  /** @defaultValue 30,000 */
  readonly maxMs?: number | undefined
}

/** Counts down what may still be read. Sources share it, so that the first one leaves something for the others. */
export class ReadBudget {
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #deadline: number
  #records: number
  #bytes: number

  constructor({ maxRecords = 10_000, maxBytes = 67_108_864, maxMs = 30_000 }: ReadBounds, clock: Clock) {
    this.#clock = clock
    this.#deadline = clock.monotonic() + maxMs
    this.#records = maxRecords
    this.#bytes = maxBytes
  }

  /** Records that may still be read. */
  get records(): number {
    return this.#records
  }

  /** Bytes that may still be read. */
  get bytes(): number {
    return this.#bytes
  }

  /** The bound that is reached; null while there is something left. */
  get spent(): string | null {
    if (this.#records <= 0) return 'maxRecords'
    if (this.#bytes <= 0) return 'maxBytes'
    return this.#clock.monotonic() >= this.#deadline ? 'maxMs' : null
  }

  take(bytes: number): void {
    this.#records -= 1
    this.#bytes -= bytes
  }
}
