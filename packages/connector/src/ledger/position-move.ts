/** That an operator moved a position: a part of what a commit carries, so that a jump is never taken for a loss (D22). */

/** The last move of a partition, and how many there were since the group began. */
export interface PositionMove {
  readonly times: number
  readonly atMs: number
  /** Next offset before; null when nothing was committed. */
  readonly from: bigint | null
  readonly to: bigint
  /** Who did it, shortened to what fits; the audit log has the whole name. */
  readonly by: string
}

/**
 * At its widest the field has 105 characters: what the counters leave of the 400 that metadata-room.ts keeps for them, and
 * what Kafka's limit of 4,096 is above the 4,000 that it grants, hold it.
 */
const longestName = 40
const mostTimes = 9_999

/** `times,time,from,to,by`, without a space or an equals sign: those separate fields. */
export function encodeMove({ times, atMs, from, to, by }: PositionMove): string {
  const name = by.replaceAll(/[^\w.@-]/g, '_').slice(0, longestName)
  return [Math.min(times, mostTimes), atMs, from ?? '-', to, name].join(',')
}

/** Undefined for text that is not such a move: it tells nothing that a position depends on. */
export function decodeMove(text: string): PositionMove | undefined {
  const found = /^(\d{1,4}),(\d{1,15}),(-|\d{1,19}),(\d{1,19}),([\w.@-]*)$/.exec(text)
  if (found === null) return undefined
  const [times, atMs, from, to, by] = found.slice(1) as [string, string, string, string, string]
  return { times: Number(times), atMs: Number(atMs), from: from === '-' ? null : BigInt(from), to: BigInt(to), by }
}
