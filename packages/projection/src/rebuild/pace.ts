import type { Runtime } from '@waybill/core'

/** Returns a function that waits so that no more than so many events pass per second. */
export function createPace(
  { clock, timers }: Pick<Runtime, 'clock' | 'timers'>,
  eventsPerSecond: number | false,
): (events: number) => Promise<void> {
  if (eventsPerSecond === false) return () => Promise.resolve()
  let freeAt = clock.monotonic()
  return async (events) => {
    const now = clock.monotonic()
    const startAt = Math.max(now, freeAt)
    freeAt = startAt + (events * 1_000) / eventsPerSecond
    if (startAt > now) await timers.sleep(startAt - now)
  }
}
