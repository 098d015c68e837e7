import { describeThrown } from '../errors.ts'

/** The reason of an aborted signal, always an Error: `abort('text')` must not make a promise reject with a string. */
export function abortReason(signal: AbortSignal): Error {
  const reason: unknown = signal.reason
  return reason instanceof Error ? reason : new DOMException(describeThrown(reason), 'AbortError')
}
