/**
 * Observes whether an outbox makes progress (L4): when it last read the table, when an outcome was last stored, and
 * since when each listener call runs. A process that renews its leases and does nothing looks alive to everything else.
 */

import type { Clock } from '@waybill/core'
import type { OutboxStore } from '../api/outbox-store.ts'
import type { OutboxTelemetry } from '../loops/outbox-telemetry.ts'

/** A listener call that has not finished. */
export interface LongCall {
  /** The name of the activity: `the listener of order.placed 01H…`. */
  readonly what: string
  /** The monotonic time at which it was first seen. */
  readonly sinceMs: number
}

const reads: ReadonlySet<string | symbol> = new Set<keyof OutboxStore>(['pollPending', 'claimPending', 'readShards'])

export class ProgressWatch {
  readonly #clock: Pick<Clock, 'monotonic'>
  #running: ReadonlyMap<string, number> = new Map()
  #readAt: number
  #outcomeAt: number

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock
    this.#readAt = this.#outcomeAt = clock.monotonic()
  }

  /** The monotonic time of the last read of the table. */
  get readAt(): number {
    return this.#readAt
  }

  /** The monotonic time at which an outcome was last stored. */
  get outcomeAt(): number {
    return this.#outcomeAt
  }

  /** Counts from now on, because the outbox has just started. */
  began(): void {
    this.#readAt = this.#outcomeAt = this.#clock.monotonic()
  }

  /** Returns the telemetry, observed. */
  telemetry(telemetry: OutboxTelemetry): OutboxTelemetry {
    const settled = (rows: number): void => {
      if (rows > 0) this.#outcomeAt = this.#clock.monotonic()
    }
    return {
      ...telemetry,
      succeeded(rows) {
        settled(rows)
        telemetry.succeeded(rows)
      },
      failed(rows) {
        settled(rows)
        telemetry.failed(rows)
      },
      died(rows) {
        settled(rows)
        telemetry.died(rows)
      },
    }
  }

  /** Returns the store, observed. */
  store(store: OutboxStore): OutboxStore {
    // Stores are classes with private state, so copying their methods would not work.
    return new Proxy(store, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name)
        if (typeof value !== 'function') return value
        const call = value.bind(target) as (...args: unknown[]) => Promise<unknown>
        if (!reads.has(name)) return call
        return async (...args: unknown[]) => {
          const rows = await call(...args)
          this.#readAt = this.#clock.monotonic()
          return rows
        }
      },
    })
  }

  /** Records the activities that run now. */
  sawRunning(names: readonly string[]): void {
    const now = this.#clock.monotonic()
    this.#running = new Map(names.map((name) => [name, this.#running.get(name) ?? now]))
  }

  /** Returns the calls that have run for longer than this, the longest first. */
  longCalls(limitMs: number): readonly LongCall[] {
    const now = this.#clock.monotonic()
    return [...this.#running]
      .filter(([, sinceMs]) => now - sinceMs > limitMs)
      .map(([what, sinceMs]) => ({ what, sinceMs }))
      .toSorted((one, other) => one.sinceMs - other.sinceMs)
  }
}
