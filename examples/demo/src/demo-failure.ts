import { describeThrown } from '@waybill/core'
import { PartialFailureError } from '@waybill/kafka'

/** Why the demo cannot go on, in a sentence for who runs it. */
export class DemoFailure extends Error {}

/** Somebody has pressed Ctrl-C. */
export class DemoInterrupted extends Error {}

/** Does something that needs a service, and says what to do where the service is not there. */
export async function needing<T>(service: string, remedy: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (cause) {
    if (cause instanceof DemoInterrupted) throw cause
    throw new DemoFailure(`${service} cannot be used. ${reasonOf(cause)}\n${remedy}`, { cause })
  }
}

/** Of several failures one will do: here all of them have the same cause. */
function reasonOf(cause: unknown): string {
  const first = cause instanceof PartialFailureError ? cause.failures[0]?.error : undefined
  return first?.message ?? describeThrown(cause)
}

/** What is awaited, unless the signal is aborted first: then what it is aborted with. */
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
