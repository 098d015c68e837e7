/** The last values of each binding, for the small lines. A ring of each: memory does not grow. */

import { effect, type ReadonlySignal, signal } from '@preact/signals'
import { now } from './clock.ts'
import { live } from './live.ts'

const points = 60
/** Values come at most once in this time. */
const stepMs = 2_000

const rings = signal<ReadonlyMap<string, readonly number[]>>(new Map())
let lastAt = 0
let stop: (() => void) | undefined

/** Rates of bindings since the page was loaded, oldest first. */
export const rateHistory: ReadonlySignal<ReadonlyMap<string, readonly number[]>> = rings

/** Begins to collect. */
export function startRateHistory(): void {
  stop ??= effect(() => {
    const bindings = live.items.binding.value
    if (bindings === undefined || live.asOf.value === undefined || now() - lastAt < stepMs) return
    lastAt = now()
    const before = rings.peek()
    rings.value = new Map(
      [...bindings].map(([key, { rates }]) => [
        key,
        [...(before.get(key) ?? []), rates.processedPerSecond ?? 0].slice(-points),
      ]),
    )
  })
}
