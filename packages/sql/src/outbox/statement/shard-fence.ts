import { ArgumentError } from '@waybill/core'
import type { ShardLease } from '@waybill/outbox/internal'
import type { Bindings } from '../../dialect/bindings.ts'
import type { Grammar } from '../../dialect/grammar.ts'
import { arrayOf } from '../../dialect/postgres-array.ts'
import type { StoreContext } from '../row/store-context.ts'

/** The shards among the leases that still hold, by the database's clock. */
export function heldShards(context: StoreContext, leases: readonly ShardLease[], bindings: Bindings): string {
  return `${untakenShards(context, leases, bindings)} AND l.expires_at > ${context.grammar.now}`
}

/** The shards among the leases that nobody has taken or given back since, run out or not. */
export function untakenShards(
  { grammar, tables }: StoreContext,
  leases: readonly ShardLease[],
  bindings: Bindings,
): string {
  return `SELECT l.shard FROM ${tables.shard.quoted} AS l WHERE ${leasesMatch(grammar, leases, bindings)}`
}

/**
 * That a finish is still the owner's right, checked inside its own statement. On PostgreSQL the leases are share-locked
 * with it, so none is taken over between the look and the change; finishes of one owner do not hinder each other. It is no
 * condition that leads to an index: for fifty shards and five hundred rows a planner may try every pair of the two there.
 */
export function isInHeldShard(context: StoreContext, leases: readonly ShardLease[], bindings: Bindings): string {
  const held = heldShards(context, leases, bindings)
  return context.grammar.dialect === 'postgres'
    ? `shard + 0 = ANY(ARRAY(${held} FOR SHARE OF l))`
    : `shard + 0 IN (${held})`
}

/**
 * The same for the lease of the one node, which is the right to all rows, and which is looked at once before any of them. It
 * is his until somebody takes it: whoever does begins anew, so a finish that comes late hinders nobody before that.
 */
export function isTableHeld(context: StoreContext, lease: ShardLease, bindings: Bindings): string {
  const held = untakenShards(context, [lease], bindings)
  return context.grammar.dialect === 'postgres' ? `cardinality(ARRAY(${held} FOR SHARE OF l)) > 0` : `EXISTS (${held})`
}

/** That rows of the table of leases, called `l`, are these leases unchanged. All are of one owner. */
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
    throw new ArgumentError('A call takes the leases of one owner, and at least one.')
  return first.owner
}
