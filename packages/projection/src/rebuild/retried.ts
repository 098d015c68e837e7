import { describeThrown, type Runtime } from '@waybill/core'
import { ProjectionStateError, RebuildFailedError, RevisionMismatchError } from '../definition/projection-errors.ts'

const retryMs = { first: 250, most: 10_000 }

/** Repeats work that fails, with growing waits. Returns undefined if the signal aborted first. @throws a final error */
export async function retried<T>(
  { timers, logger }: Pick<Runtime, 'timers' | 'logger'>,
  projection: string,
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<T | undefined> {
  for (let waitMs = retryMs.first; !signal.aborted; waitMs = Math.min(waitMs * 2, retryMs.most)) {
    try {
      return await work()
    } catch (error) {
      if (signal.aborted || isFinal(error)) throw error
      logger.warn({ projection, error: describeThrown(error), waitMs }, 'Rebuild step failed, retrying')
      await timers.sleep(waitMs, signal).catch(() => {})
    }
  }
  return undefined
}

/** Returns whether a retry would meet the same error. */
export function isFinal(error: unknown): boolean {
  return (
    error instanceof RebuildFailedError ||
    error instanceof RevisionMismatchError ||
    error instanceof ProjectionStateError
  )
}
