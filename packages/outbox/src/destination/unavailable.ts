import { CircuitOpenError, UnavailableError } from '@waybill/core'
import { anyErrorPredicate, causeChain, knownFailures } from '@waybill/core/internal'

/** A failed delivery that says nothing about its event: the destination could not be reached. */
export interface Unavailable {
  /** The destination that the error names. Undefined: the narrowest one of the event. */
  readonly destination: string | undefined
}

const isPermanent = anyErrorPredicate(knownFailures.PERMANENT)
// By class, and by code for a second copy of the package. A breaker that is open has called nothing.
const isUnavailable = anyErrorPredicate([
  UnavailableError,
  UnavailableError.code,
  CircuitOpenError,
  CircuitOpenError.code,
])

/**
 * Returns what an error says about the event's destination; undefined if it says nothing. Errors are checked from the
 * outside in: code that wraps an error and calls it permanent knows more than the error it wraps.
 */
export function unavailableIn(thrown: unknown): Unavailable | undefined {
  for (const error of causeChain(thrown)) {
    if (isPermanent(error)) return undefined
    if (isUnavailable(error)) return { destination: destinationOf(error) }
  }
  return undefined
}

function destinationOf(error: unknown): string | undefined {
  try {
    const { destination } = error as { readonly destination?: unknown }
    return typeof destination === 'string' ? destination : undefined
  } catch {
    return undefined
  }
}
