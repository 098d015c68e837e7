import { describeThrown } from '@waybill/core'
import { PartialFailureError } from '@waybill/kafka'

/** A failure of the demo, as a sentence for its user. */
export class DemoFailure extends Error {}

/** The user pressed Ctrl-C. */
export class DemoInterrupted extends Error {}

/** Runs work that needs a service, and adds the remedy to its error. */
export async function needing<T>(service: string, remedy: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (cause) {
    if (cause instanceof DemoInterrupted) throw cause
    throw new DemoFailure(`${service} cannot be used. ${reasonOf(cause)}\n${remedy}`, { cause })
  }
}

/** Returns the first of several failures: here all of them have the same cause. */
function reasonOf(cause: unknown): string {
  const first = cause instanceof PartialFailureError ? cause.failures[0]?.error : undefined
  return first?.message ?? describeThrown(cause)
}

/** Awaits a promise, but rejects with the signal's reason if the signal aborts first. */
export async function unless<T>(signal: AbortSignal, awaited: Promise<T>): Promise<T> {
  const aborted = Promise.withResolvers<never>()
  const abort = (): void => aborted.reject(signal.reason)
  signal.addEventListener('abort', abort, { once: true })
  if (signal.aborted) abort()
  try {
    return await Promise.race([awaited, aborted.promise])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}
