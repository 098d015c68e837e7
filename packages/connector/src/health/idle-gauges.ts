/**
 * The share of time in which no handler of a binding ran, over the last 30 seconds. A binding that is never idle has no
 * headroom: more records would become a lag. One that stopped is idle.
 */

import type { Runtime } from '@waybill/core'
import { bindingLabels } from '../binding/binding-label.ts'
import { metricName } from '../binding/binding-telemetry.ts'
import type { RegisteredBinding } from '../run/registered-binding.ts'

/** The part of a binding that is measured. */
export type BusyBinding = Pick<RegisteredBinding, 'name' | 'cluster' | 'label' | 'busyMs'>

interface Sample {
  /** Monotonic. */
  readonly at: number
  readonly busyMs: number
}

const windowMs = 30_000

/** See the file's comment. */
export class IdleGauges {
  readonly #runtime: Pick<Runtime, 'clock' | 'metrics'>
  /** Oldest first, by binding. */
  #samples = new Map<string, readonly Sample[]>()

  constructor(runtime: Pick<Runtime, 'clock' | 'metrics'>) {
    this.#runtime = runtime
  }

  measure(bindings: readonly BusyBinding[]): void {
    const before = this.#samples
    this.#samples = new Map()
    const at = this.#runtime.clock.monotonic()
    for (const binding of bindings) {
      const { busyMs, label } = binding
      if (busyMs === undefined) {
        if (before.has(label)) this.#setIdle(binding)
        continue
      }
      // A run that started meanwhile counts from 0.
      const known = (before.get(label) ?? []).filter((one) => at - one.at <= windowMs && one.busyMs <= busyMs)
      this.#samples.set(label, [...known, { at, busyMs }])
      const [oldest] = known
      if (oldest === undefined || oldest.at === at) continue
      const busyShare = (busyMs - oldest.busyMs) / (at - oldest.at)
      const idle = Math.min(1, Math.max(0, 1 - busyShare))
      this.#runtime.metrics.gauge(metricName.idleRatio, bindingLabels(binding), idle)
    }
  }

  /** Sets the gauge of a binding that is no longer registered for the last time. */
  forget(binding: BusyBinding): void {
    if (this.#samples.delete(binding.label)) this.#setIdle(binding)
  }

  /** Without it, the last share would stay until the binding runs again, and a warning with it. */
  #setIdle(binding: BusyBinding): void {
    this.#runtime.metrics.gauge(metricName.idleRatio, bindingLabels(binding), 1)
  }
}
