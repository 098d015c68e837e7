const defaultWaitMs = 30_000
/** Leaves the answer time to be written before the limit of a request. */
const longestWaitMs = 25_000

/** Returns how long a client waits for a change that may take long: `Prefer: wait=10`, in seconds. */
export function preferredWaitMs(prefer: string | undefined): number {
  const seconds = /(?:^|[\s,;])wait=(\d{1,6})(?:[\s,;]|$)/i.exec(prefer ?? '')?.[1]
  return Math.min(seconds === undefined ? defaultWaitMs : Number(seconds) * 1_000, longestWaitMs)
}
