/** The percentages of counted calls that failed or were slow. All zero before the first call. */
export interface CallRates {
  /** How many calls the rates are made of. */
  readonly calls: number
  readonly failureRate: number
  readonly slowCallRate: number
}

const failedBit = 1
const slowBit = 2

/** The last `size` outcomes, in a ring with running counts: recording one costs the same at every size. */
export class OutcomeWindow {
  readonly #ring: Uint8Array
  #next = 0
  #calls = 0
  #failed = 0
  #slow = 0

  constructor(size: number) {
    this.#ring = new Uint8Array(size)
  }

  record(isFailed: boolean, isSlow: boolean): void {
    this.#count(this.#ring[this.#next] as number, -1) // A place not used before holds 0, which counts as nothing.
    const outcome = (isFailed ? failedBit : 0) | (isSlow ? slowBit : 0)
    this.#count(outcome, 1)
    this.#ring[this.#next] = outcome
    this.#next = (this.#next + 1) % this.#ring.length
    if (this.#calls < this.#ring.length) this.#calls++
  }

  get rates(): CallRates {
    const percent = (count: number): number => (this.#calls === 0 ? 0 : (count * 100) / this.#calls)
    return { calls: this.#calls, failureRate: percent(this.#failed), slowCallRate: percent(this.#slow) }
  }

  #count(outcome: number, by: 1 | -1): void {
    if (outcome & failedBit) this.#failed += by
    if (outcome & slowBit) this.#slow += by
  }
}
