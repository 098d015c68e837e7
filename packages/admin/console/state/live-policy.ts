/** Decides what follows the end of a stream. Pure. */

/** How a stream ended. */
export interface StreamEnd {
  /** The status of the answer; 200 for one that began, 0 without an answer. */
  readonly status: number
  /** Whether at least one event came. */
  readonly hadEvents: boolean
  /** Ends without an event, one after the other, with this one. */
  readonly failures: number
}

/** The next step. */
export type NextStep =
  /** Connect again. */
  | { readonly kind: 'RETRY'; readonly inMs: number }
  /** Read the state every few seconds, and try the stream again later. */
  | { readonly kind: 'POLL'; readonly retryInMs: number }

const delaysMs = [1_000, 2_000, 4_000, 8_000, 15_000] as const
const pollAfterFailures = 3
const retryWhilePollingMs = 60_000

/**
 * Decides after a stream has ended. A proxy that holds events back looks like a stream without events; a server that is away
 * does not answer polls either, so both lead to polling, which says how old the values are.
 * @param random - from 0 to 1, so that many browsers do not come back at once
 */
export function stepAfter({ status, hadEvents, failures }: StreamEnd, random: number): NextStep {
  if (hadEvents) return { kind: 'RETRY', inMs: jittered(delaysMs[0], random) }
  if (status >= 400 || (status === 200 && failures >= pollAfterFailures))
    return { kind: 'POLL', retryInMs: jittered(retryWhilePollingMs, random) }
  return { kind: 'RETRY', inMs: jittered(delaysMs[Math.min(failures, delaysMs.length) - 1] ?? delaysMs[0], random) }
}

function jittered(ms: number, random: number): number {
  return Math.round(ms * (0.75 + random / 2))
}
