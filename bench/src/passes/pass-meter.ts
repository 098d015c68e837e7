/** Measures one pass in a contestant's own process, and collects its evidence. */

import type { PassResult } from './pass-result.ts'

/** Counts the records of one pass. */
export class PassMeter {
  readonly #pass: number
  readonly #topic: string
  readonly #records: number
  /** The calls of each record, by the number in its value. */
  readonly #calls: Uint8Array
  readonly #cpu = process.cpuUsage()
  readonly #finished = Promise.withResolvers<void>()
  #startedAt = 0
  #handled = 0
  #done = 0
  #bytes = 0
  #seconds = 0
  #cpuSeconds = 0

  constructor(pass: number, topic: string, records: number) {
    this.#pass = pass
    this.#topic = topic
    this.#records = records
    this.#calls = new Uint8Array(records)
  }

  /** Resolves when the last record is done. */
  get finished(): Promise<void> {
    return this.#finished.promise
  }

  /** The calls so far. */
  get handled(): number {
    return this.#handled
  }

  get isFinished(): boolean {
    return this.#done >= this.#records
  }

  /** Counts a call. The first one starts the clock. */
  begin(): void {
    if (this.#handled++ === 0) this.#startedAt = performance.now()
  }

  /** Records that a handler read `bytes` of fields, and the number at the start of the value. */
  read(bytes: number, value: Buffer): void {
    this.#bytes += bytes
    const number = value.readInt32BE(0)
    this.#calls[number] = (this.#calls[number] as number) + 1
  }

  /** Counts a record that needs nothing more. */
  done(): void {
    if (++this.#done !== this.#records) return
    this.#seconds = (performance.now() - this.#startedAt) / 1_000
    const { user, system } = process.cpuUsage(this.#cpu)
    this.#cpuSeconds = (user + system) / 1e6
    this.#finished.resolve()
  }

  /** Returns the result. Call it when the contestant has stopped: what it handled twice until then counts. */
  result(more: Pick<PassResult, 'groupId' | 'commits' | 'heap'> = {}): PassResult {
    return {
      pass: this.#pass,
      topic: this.#topic,
      records: this.#records,
      seconds: this.#seconds,
      cpuSeconds: this.#cpuSeconds,
      handled: this.#handled,
      distinct: this.#calls.reduce((sum, calls) => sum + (calls > 0 ? 1 : 0), 0),
      bytes: this.#bytes,
      ...more,
    }
  }
}
