/** The time of the console. The only place that takes it from the browser. */

import { type ReadonlySignal, signal } from '@preact/signals'

/** Returns the time, epoch ms. */
export function now(): number {
  return Date.now()
}

/** Runs work once, unless it is disposed before. */
export function after(ms: number, work: () => void): () => void {
  const timer = setTimeout(work, ms)
  return () => clearTimeout(timer)
}

/** Runs work again and again until it is disposed. */
export function every(ms: number, work: () => void): () => void {
  const timer = setInterval(work, ms)
  return () => clearInterval(timer)
}

const tick = signal(now())
let stopTicking: (() => void) | undefined

/** The time, which changes each second: ages that are shown follow it. */
export const seconds: ReadonlySignal<number> = tick

/** Begins to move `seconds`. */
export function startClock(): void {
  stopTicking ??= every(1_000, () => {
    tick.value = now()
  })
}
