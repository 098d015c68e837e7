import type { Timers } from '@waybill/core'
import { callWithin } from './handler-timeout.ts'

/** The time that the preparation of a batch may take: as long as a call. */
export interface PreparationLimit {
  readonly handlerTimeoutMs: number | false
  readonly timers: Timers
}

/**
 * Waits until `prepare` resolves, its time is over, or `over` aborts. The caller uses the results so far; records without one
 * are delivered alone, where a failure of the preparation is an attempt. `prepare` must not reject.
 */
export async function resolveInTime(
  prepare: (signal: AbortSignal) => Promise<unknown>,
  { handlerTimeoutMs, timers }: PreparationLimit,
  over: AbortSignal,
): Promise<void> {
  const ask = (signal: AbortSignal): Promise<void> => untilAborted(signal, prepare(signal))
  if (handlerTimeoutMs === false) await ask(over)
  else await callWithin(timers, handlerTimeoutMs, over, ask).catch(() => {})
}

/** Resolves when `running` does, or when the signal aborts. */
async function untilAborted(signal: AbortSignal, running: Promise<unknown>): Promise<void> {
  if (signal.aborted) return
  const { promise: aborted, resolve } = Promise.withResolvers<void>()
  const end = (): void => resolve()
  signal.addEventListener('abort', end, { once: true })
  try {
    await Promise.race([running, aborted])
  } finally {
    signal.removeEventListener('abort', end)
  }
}
