/**
 * Decides which shards the next statement reads, and how many rows of each. Pure.
 *
 * Memory is bounded by rows (I17), and no shard or key can use all of it: a shard reads while it has less than half of
 * its equal share, however full the others are, and beyond that while memory is half empty. A key has at most a quarter
 * of a share in memory, so a slow key leaves room for its neighbors.
 */

/** The properties of a shard that the plan considers. */
export interface ReadableShard {
  readonly size: number
  readonly isHungry: boolean
  readonly isClosed: boolean
  readonly isBlind: boolean
}

export interface ReadBounds {
  /** Rows per statement, across all shards. */
  readonly batchSize: number
  /** The approximate limit of rows in memory: a last read may exceed it by its own rows and one share. */
  readonly maxBuffered: number
}

export interface ReadPlan<Q> {
  readonly shards: readonly Q[]
  /** Rows per shard. */
  readonly limit: number
  /** Rows of one key in memory. */
  readonly maxChain: number
}

/** Small enough to leave room for others, large enough that a busy key does not cost one read per row. */
const leastChain = 4

/** @param turn the first shard if a statement cannot read all; the caller rotates it, so that none starves */
export function planRead<Q extends ReadableShard>(queues: readonly Q[], bounds: ReadBounds, turn: number): ReadPlan<Q> {
  const { batchSize, maxBuffered } = bounds
  const open = queues.filter(({ isClosed }) => !isClosed)
  const share = Math.max(1, Math.floor(maxBuffered / Math.max(1, open.length)))
  const isHalfEmpty = queues.reduce((sum, { size }) => sum + size, 0) * 2 < maxBuffered
  const wanting = open.filter(
    ({ size, isHungry, isBlind }) => isHungry && !isBlind && (isHalfEmpty || size * 2 < share),
  )
  const first = wanting.length === 0 ? 0 : turn % wanting.length
  const shards = [...wanting.slice(first), ...wanting.slice(0, first)].slice(0, batchSize)
  const equal = Math.max(1, Math.floor(batchSize / Math.max(1, shards.length)))
  return {
    shards,
    limit: isHalfEmpty ? equal : Math.min(equal, share),
    maxChain: Math.max(leastChain, Math.floor(share / 4)),
  }
}
