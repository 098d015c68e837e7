/**
 * Decides which shards a node takes and releases, from the lease table alone. Nodes do not communicate: each computes
 * everyone's share by the same arithmetic and moves toward its own. Views that differ for a moment cost a lease that is
 * not granted, never two owners: the database prevents those (I6).
 */

import { firstPresenceShard, type ShardLease, shardCount } from '../api/outbox-store.ts'

/** The view of a node when it decides. */
export interface ShardView {
  readonly self: string
  /** All unexpired leases, presences included. */
  readonly leases: readonly ShardLease[]
  /** Shards this node cannot take now, because work of an earlier lease still runs here. */
  readonly busy: ReadonlySet<number>
}

export interface ShardPlan {
  /** Free shards to take. */
  readonly take: readonly number[]
  /** Shards of this node to drain and release. */
  readonly release: readonly number[]
}

/** The assignment of shards to nodes. */
export type ShardAssignment = (view: ShardView) => ShardPlan

const allShards: readonly number[] = Array.from({ length: shardCount }, (_, shard) => shard)
const presenceShards: readonly number[] = allShards.map((index) => firstPresenceShard - index)

/**
 * Gives every present node the same number of shards; the remainder goes to the first ones in the order of their
 * presences. The shares add up to all shards, so once the views agree nothing is free and nothing moves.
 *
 * `rotation` shifts where a node starts to search for free shards: nodes that start together would otherwise request
 * the same ones.
 */
export function balancedAssignment(rotation: () => number): ShardAssignment {
  return (view) => {
    const mine = shardsOf(view)
    const share = shareOf(view)
    if (mine.length > share) return { take: [], release: mine.slice(share) }
    return { take: rotated(freeShards(view, allShards), rotation()).slice(0, share - mine.length), release: [] }
  }
}

/** Gives instance i of n the shards with remainder i, even while other instances are down. */
export function fixedAssignment(instanceCount: number, instanceId: number): ShardAssignment {
  const own = allShards.filter((shard) => shard % instanceCount === instanceId)
  return (view) => ({
    take: freeShards(view, own),
    release: shardsOf(view).filter((shard) => shard % instanceCount !== instanceId),
  })
}

/** Returns a presence to take; undefined if this node has one, or if as many nodes as shards are present. */
export function presenceToTake(
  { self, leases }: Pick<ShardView, 'self' | 'leases'>,
  rotation: number,
): number | undefined {
  const present = leases.filter(({ shard }) => isPresence(shard))
  if (present.some(({ owner }) => owner === self)) return undefined
  const taken = new Set(present.map(({ shard }) => shard))
  return rotated(
    presenceShards.filter((shard) => !taken.has(shard)),
    rotation,
  )[0]
}

export function isPresence(shard: number): boolean {
  return shard <= firstPresenceShard && shard > firstPresenceShard - shardCount
}

/** Returns the node's share. A node without presence has none: others could not know of it. */
function shareOf({ self, leases }: ShardView): number {
  const present = leases.filter(({ shard }) => isPresence(shard)).toSorted((one, other) => other.shard - one.shard)
  const nodes = [...new Set(present.map(({ owner }) => owner))]
  const rank = nodes.indexOf(self)
  if (rank < 0) return 0
  return Math.floor(shardCount / nodes.length) + (rank < shardCount % nodes.length ? 1 : 0)
}

function shardsOf({ self, leases }: ShardView): readonly number[] {
  return leases.filter(({ shard, owner }) => shard >= 0 && owner === self).map(({ shard }) => shard)
}

function freeShards({ leases, busy }: ShardView, among: readonly number[]): readonly number[] {
  const taken = new Set(leases.map(({ shard }) => shard))
  return among.filter((shard) => !taken.has(shard) && !busy.has(shard))
}

function rotated<T>(items: readonly T[], by: number): readonly T[] {
  const at = items.length === 0 ? 0 : by % items.length
  return [...items.slice(at), ...items.slice(0, at)]
}
