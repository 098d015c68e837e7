/** Counts listener calls outside of every engine. */

/** The cost of the counted calls, and the evidence that each event was delivered once. */
export interface CallResult {
  readonly perSecond: number
  /** CPU of this process. */
  readonly nodeMicros: number
  readonly calls: number
  readonly distinct: number
  /** Events left in the table when the engine had been idle for a moment. */
  readonly left: number
}

/** Times the calls after the first `warm`, until as many more as `count`. */
export class CallCounter {
  readonly #warm: number
  readonly #count: number
  readonly #seen: Uint8Array
  readonly #finished = Promise.withResolvers<void>()
  #calls = 0
  #startedAt = 0
  #cpu = process.cpuUsage()
  #seconds = 0
  #cpuMicros = 0

  constructor(warm: number, count: number) {
    this.#warm = warm
    this.#count = count
    this.#seen = new Uint8Array(warm + count)
  }

  /** Resolves after the last call. */
  get finished(): Promise<void> {
    return this.#finished.promise
  }

  /** Counts the call with this payload, whose `number` is that of the event. */
  readonly call = ({ number }: NumberedPayload): void => {
    this.#seen[number] = (this.#seen[number] as number) + 1
    this.#calls++
    if (this.#calls === this.#warm) {
      this.#cpu = process.cpuUsage()
      this.#startedAt = performance.now()
    } else if (this.#calls === this.#warm + this.#count) {
      this.#seconds = (performance.now() - this.#startedAt) / 1_000
      const { user, system } = process.cpuUsage(this.#cpu)
      this.#cpuMicros = user + system
      this.#finished.resolve()
    }
  }

  result(left: number): CallResult {
    return {
      perSecond: this.#count / this.#seconds,
      nodeMicros: this.#cpuMicros / this.#count,
      calls: this.#calls,
      distinct: this.#seen.reduce((sum, calls) => sum + (calls > 0 ? 1 : 0), 0),
      left,
    }
  }
}

/** A payload as every contestant stores it. */
export interface NumberedPayload {
  readonly number: number
}

/** Returns what a contestant lost, repeated or left behind, or undefined. */
export function problemOfCalls({ calls, distinct, left }: CallResult, events: number): string | undefined {
  if (distinct < events) return `lost ${events - distinct} of ${events} events`
  if (calls > events) return `repeated ${calls - events} of ${events} calls`
  return left > 0 ? `left ${left} of ${events} rows behind` : undefined
}
