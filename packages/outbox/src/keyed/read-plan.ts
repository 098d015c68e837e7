/**
 * Decides which shards the next statement reads, and how many rows of each. Pure.
 *
 * Memory is bounded by rows (I17) and bytes (I24), and no shard or key can use all of it: a shard reads while it has less
 * than half of its equal share, however many rows the others have, and beyond that while memory is half empty. A key has
 * at most a quarter of a share in memory, so a slow key leaves room for its neighbors. The bound of bytes is strict: once
 * it is reached no shard reads, because a single row may be larger than all shares.
 */

/** The properties of a shard that the plan considers. */
export interface ReadableShard {
  readonly size: number
  readonly bytes: number
  readonly isHungry: boolean
  /** Whether its last read left rows in the table. */
  readonly isBacklogged: boolean
  readonly isClosed: boolean
  readonly isBlind: boolean
}

export interface ReadBounds {
  /** Rows per statement, across all shards. */
  readonly batchSize: number
  /** The approximate limit of rows in memory: a last read may exceed it by its own rows and one share. */
  readonly maxBuffered: number
  /** The limit of bytes in memory: a last read may exceed it by its own bytes. */
  readonly maxBufferedBytes: number
}

/** The limits of one key in memory, rows that run or settle excluded. */
export interface ChainBounds {
  readonly maxChain: number
  readonly maxChainBytes: number
}

export interface ReadPlan<Q> extends ChainBounds {
  readonly shards: readonly Q[]
  /** Rows per shard. */
  readonly limit: number
  /** Whether a shard with rows to read has to wait until other shards release bytes. */
  readonly isOutOfBytes: boolean
}

/** Small enough to leave room for others, large enough that a busy key does not cost one read per row. */
const leastChain = 4

/** The part of all bytes that one key may fill: a share of many shards would not hold two large rows. */
const chainsPerBound = 8

/**
 * @param turn the first shard if a statement cannot read all; the caller rotates it, so that none starves
 * @param fitting the number of rows that are expected to fit into the bytes of one read
 */
export function planRead<Q extends ReadableShard>(
  queues: readonly Q[],
  bounds: ReadBounds,
  turn: number,
  fitting: number = bounds.batchSize,
): ReadPlan<Q> {
  const { batchSize, maxBuffered, maxBufferedBytes } = bounds
  const open = queues.filter(({ isClosed }) => !isClosed)
  const share = Math.max(1, Math.floor(maxBuffered / Math.max(1, open.length)))
  const byteShare = maxBufferedBytes / Math.max(1, open.length)
  const buffered = queues.reduce((sum, { size }) => sum + size, 0)
  const bufferedBytes = queues.reduce((sum, { bytes }) => sum + bytes, 0)
  const isHalfEmpty = buffered * 2 < maxBuffered && bufferedBytes * 2 < maxBufferedBytes
  const hungry = open.filter(({ isHungry, isBlind }) => isHungry && !isBlind)
  const isOutOfBytes = bufferedBytes >= maxBufferedBytes
  const wanting = isOutOfBytes
    ? []
    : hungry.filter(({ size, bytes }) => isHalfEmpty || (size * 2 < share && bytes * 2 < byteShare))
  const { shards, limit } =
    fitting < batchSize ? planLarge(wanting, batchSize, turn, fitting) : planSmall(wanting, batchSize, turn)
  return {
    shards,
    limit: isHalfEmpty ? limit : Math.min(limit, share),
    maxChain: Math.max(leastChain, Math.floor(share / 4)),
    maxChainBytes: Math.floor(maxBufferedBytes / chainsPerBound),
    isOutOfBytes: isOutOfBytes && hungry.length > 0,
  }
}

type ShardChoice<Q> = Pick<ReadPlan<Q>, 'shards' | 'limit'>

function planSmall<Q>(wanting: readonly Q[], batchSize: number, turn: number): ShardChoice<Q> {
  const shards = rotated(wanting, turn).slice(0, batchSize)
  return { shards, limit: Math.max(1, Math.floor(batchSize / Math.max(1, shards.length))) }
}

/**
 * Chooses shards while rows are large. The database loads every row of the result to measure it, so only as many shards
 * with a backlog are read as rows fit. The others are probably empty, which costs nothing: they are all read.
 */
function planLarge<Q extends ReadableShard>(
  wanting: readonly Q[],
  batchSize: number,
  turn: number,
  fitting: number,
): ShardChoice<Q> {
  const { long = [], short = [] } = Object.groupBy(wanting, ({ isBacklogged }) => (isBacklogged ? 'long' : 'short'))
  const backlogged = rotated(long, turn).slice(0, fitting)
  const shards = [...rotated(short, turn), ...backlogged].slice(0, batchSize)
  const equal = Math.floor(fitting / Math.max(1, backlogged.length))
  return { shards, limit: Math.max(1, Math.min(equal, Math.floor(batchSize / Math.max(1, shards.length)))) }
}

function rotated<Q>(shards: readonly Q[], turn: number): readonly Q[] {
  const first = shards.length === 0 ? 0 : turn % shards.length
  return [...shards.slice(first), ...shards.slice(0, first)]
}
