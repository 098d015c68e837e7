import type { Runtime } from '@waybill/core'

/** Runs work now and then again after a time, until the signal aborts. A process without other work may end meanwhile. */
export async function repeatEvery(
  { timers }: Pick<Runtime, 'timers'>,
  { everyMs, signal }: { readonly everyMs: number; readonly signal: AbortSignal },
  work: () => Promise<void>,
): Promise<void> {
  while (!signal.aborted) {
    await work()
    const { promise, resolve } = Promise.withResolvers<void>()
    // Not `timers.sleep`, which keeps a process alive.
    using _ = timers.schedule(everyMs, resolve)
    const onAbort = (): void => resolve()
    signal.addEventListener('abort', onAbort, { once: true })
    if (signal.aborted) resolve()
    await promise
    signal.removeEventListener('abort', onAbort)
  }
}
