import { ArgumentError } from '@waybill/core'
import type { ShardLease } from '@waybill/outbox/internal'
import type { Bindings } from '../../dialect/bindings.ts'
import type { Grammar } from '../../dialect/grammar.ts'
import { arrayOf } from '../../dialect/postgres-array.ts'
import type { StoreContext } from '../row/store-context.ts'

/** Selects the shards of leases that still hold, by the database's clock. */
export function heldShards(context: StoreContext, leases: readonly ShardLease[], bindings: Bindings): string {
  return `${untakenShards(context, leases, bindings)} AND l.expires_at > ${context.grammar.now}`
}

/** Selects the shards of leases that were not taken or released since, expired or not. */
export function untakenShards(
  { grammar, tables }: StoreContext,
  leases: readonly ShardLease[],
  bindings: Bindings,
): string {
  return `SELECT l.shard FROM ${tables.shard.quoted} AS l WHERE ${leasesMatch(grammar, leases, bindings)}`
}

/**
 * Returns the condition that the owner still holds the shard, checked inside the settling statement. On PostgreSQL it
 * share-locks the leases, so none is taken over between check and change; settlements of one owner do not block each
 * other. It must not match an index: for fifty shards and five hundred rows a planner may try every pair of the two.
 */
export function isInHeldShard(context: StoreContext, leases: readonly ShardLease[], bindings: Bindings): string {
  const held = heldShards(context, leases, bindings)
  return context.grammar.dialect === 'postgres'
    ? `shard + 0 = ANY(ARRAY(${held} FOR SHARE OF l))`
    : `shard + 0 IN (${held})`
}

/**
 * Returns the same condition for the lease on the whole table, checked once before any row. The lease belongs to its
 * owner until another node takes it: that node starts over, so a late settlement before that is harmless.
 */
export function isTableHeld(context: StoreContext, lease: ShardLease, bindings: Bindings): string {
  const held = untakenShards(context, [lease], bindings)
  return context.grammar.dialect === 'postgres' ? `cardinality(ARRAY(${held} FOR SHARE OF l)) > 0` : `EXISTS (${held})`
}

/** Returns the condition that rows of the lease table, aliased `l`, are these leases unchanged. All have one owner. */
export function leasesMatch(grammar: Grammar, leases: readonly ShardLease[], bindings: Bindings): string {
  const owner = `l.owner = ${bindings.bind(ownerOf(leases))}`
  switch (grammar.dialect) {
    case 'postgres': {
      const shards = bindings.bind(arrayOf(leases.map(({ shard }) => shard)))
      const versions = bindings.bind(arrayOf(leases.map(({ version }) => version)))
      return `${owner} AND (l.shard, l.version) IN (SELECT * FROM unnest(${shards}::bigint[], ${versions}::bigint[]))`
    }
    case 'sqlite': {
      const pairs = bindings.bind(JSON.stringify(leases.map(({ shard, version }) => [shard, Number(version)])))
      return `${owner} AND (l.shard, l.version) IN (SELECT value ->> 0, value ->> 1 FROM json_each(${pairs}))`
    }
    case 'mysql': {
      const pairs = leases.map(({ shard, version }) => `(${bindings.bind(shard)}, ${bindings.bind(Number(version))})`)
      return `${owner} AND (l.shard, l.version) IN (${pairs.join(', ')})`
    }
  }
}

function ownerOf(leases: readonly ShardLease[]): string {
  const [first] = leases
  if (first === undefined || leases.some(({ owner }) => owner !== first.owner))
    throw new ArgumentError('A call needs at least one lease, all of one owner.')
  return first.owner
}
