/**
 * When rows that this process deferred become due, so that a retry in 200 ms does not wait for a poll every 5 s. Only a
 * hint: the next poll finds rows beyond the limit and rows deferred by other nodes. Bounded; close times are merged.
 */

const resolutionMs = 20
const maxTimes = 256

export class DueTimes {
  /** In ascending order. */
  readonly #times: number[] = []

  /** Adds the due time of a row. */
  add(dueAtMs: number): void {
    const time = Math.ceil(dueAtMs / resolutionMs) * resolutionMs
    const at = this.#times.findIndex((other) => other >= time)
    if (this.#times[at] === time) return
    this.#times.splice(at === -1 ? this.#times.length : at, 0, time)
    if (this.#times.length > maxTimes) this.#times.pop()
  }

  /** The earliest time; Infinity if none is known. */
  get next(): number {
    return this.#times[0] ?? Number.POSITIVE_INFINITY
  }

  /** Removes the times that have come. @returns whether there were any */
  take(nowMs: number): boolean {
    const later = this.#times.findIndex((time) => time > nowMs)
    return this.#times.splice(0, later === -1 ? this.#times.length : later).length > 0
  }
}
