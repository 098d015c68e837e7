import type { ShardLease } from '@waybill/outbox/internal'

/** The owner of a shard and the expiry of its lease. */
export interface SimShard {
  owner: string
  version: bigint
  until: number
}

/** The owner of a shard that was given back. */
const noOwner = ''

/** The statements about the leases of shards. What is over is kept: versions only rise. */
export class SimShardLeases {
  readonly #shards: Map<number, SimShard>
  readonly #now: () => number

  /** @param now - the database's clock */
  constructor(shards: Map<number, SimShard>, now: () => number) {
    this.#shards = shards
    this.#now = now
  }

  take(owner: string, shards: readonly number[], timeoutMs: number): ShardLease[] {
    const now = this.#now()
    return shards
      .toSorted((one, other) => one - other)
      .flatMap((shard) => {
        const held = this.#shards.get(shard)
        if (held !== undefined && held.owner !== owner && held.until > now) return []
        const version = (held?.version ?? 0n) + 1n
        this.#shards.set(shard, { owner, version, until: now + timeoutMs })
        return [{ shard, owner, version }]
      })
  }

  /** As in a real database: one that is over holds again if no other owner took the shard. */
  renew(leases: readonly ShardLease[], timeoutMs: number): ShardLease[] {
    const held = leases.filter((lease) => this.isLatest(lease))
    for (const { shard, owner, version } of held)
      this.#shards.set(shard, { owner, version, until: this.#now() + timeoutMs })
    return held
  }

  release(leases: readonly ShardLease[]): void {
    for (const { shard, version } of leases.filter((lease) => this.isLatest(lease)))
      this.#shards.set(shard, { owner: noOwner, version, until: Number.NEGATIVE_INFINITY })
  }

  owners(): ShardLease[] {
    const now = this.#now()
    return [...this.#shards]
      .filter(([, { until }]) => until > now)
      .map(([shard, { owner, version }]) => ({ shard, owner, version }))
      .toSorted((one, other) => one.shard - other.shard)
  }

  /** Whether a shard's lease is this one, and not over. */
  holds(lease: ShardLease): boolean {
    const latest = this.#shards.get(lease.shard)
    return latest !== undefined && latest.until > this.#now() && this.isLatest(lease)
  }

  /** Whether no other owner has taken the shard since, expired or not. */
  isLatest({ shard, owner, version }: ShardLease): boolean {
    const latest = this.#shards.get(shard)
    return latest?.owner === owner && latest.version === version
  }
}
