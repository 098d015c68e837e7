/**
 * When rows that this process put off will be due, so that a retry in 200 ms does not wait for a poll every 5 s. A hint:
 * what does not fit is found by the next poll, and so is what other nodes put off. Bounded; times that are close are one.
 */

const resolutionMs = 20
const maxTimes = 256

export class DueTimes {
  /** In rising order. */
  readonly #times: number[] = []

  /** A row is due then. */
  add(dueAtMs: number): void {
    const time = Math.ceil(dueAtMs / resolutionMs) * resolutionMs
    const at = this.#times.findIndex((other) => other >= time)
    if (this.#times[at] === time) return
    this.#times.splice(at === -1 ? this.#times.length : at, 0, time)
    if (this.#times.length > maxTimes) this.#times.pop()
  }

  /** The earliest; Infinity when none is known. */
  get next(): number {
    return this.#times[0] ?? Number.POSITIVE_INFINITY
  }

  /** Forgets what is due by now. @returns whether anything was */
  take(nowMs: number): boolean {
    const later = this.#times.findIndex((time) => time > nowMs)
    return this.#times.splice(0, later === -1 ? this.#times.length : later).length > 0
  }
}
