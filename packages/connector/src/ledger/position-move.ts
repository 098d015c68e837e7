/** Encodes an operator's position move for the commit metadata, so that a jump is never mistaken for a loss. */

/** The last position move of a partition, and the number of moves since the group was created. */
export interface PositionMove {
  readonly times: number
  readonly atMs: number
  /** The next offset before the move; null if nothing was committed. */
  readonly from: bigint | null
  readonly to: bigint
  /** The operator's name, truncated to 40 characters; the audit log has the full name. */
  readonly by: string
}

/**
 * The field has at most 105 characters. They fit into the rest of the 400 that metadata-room.ts reserves for counters,
 * plus the difference between Kafka's limit of 4,096 and the 4,000 it plans with.
 */
const longestName = 40
const mostTimes = 9_999

/** Encodes a move as `times,time,from,to,by`, without spaces and equals signs, which separate metadata fields. */
export function encodeMove({ times, atMs, from, to, by }: PositionMove): string {
  const name = by.replaceAll(/[^\w.@-]/g, '_').slice(0, longestName)
  return [Math.min(times, mostTimes), atMs, from ?? '-', to, name].join(',')
}

/** Decodes a move. Returns undefined for any other text, since no position depends on it. */
export function decodeMove(text: string): PositionMove | undefined {
  const found = /^(\d{1,4}),(\d{1,15}),(-|\d{1,19}),(\d{1,19}),([\w.@-]*)$/.exec(text)
  if (found === null) return undefined
  const [times, atMs, from, to, by] = found.slice(1) as [string, string, string, string, string]
  return { times: Number(times), atMs: Number(atMs), from: from === '-' ? null : BigInt(from), to: BigInt(to), by }
}
