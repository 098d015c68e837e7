import type { ShardLease } from '@waybill/outbox/internal'
import type { Bindings } from '../../dialect/bindings.ts'
import type { Grammar } from '../../dialect/grammar.ts'
import { arrayOf } from '../../dialect/postgres-array.ts'
import type { Render, StoreContext } from '../row/store-context.ts'
import { leasesMatch } from './shard-fence.ts'

/** A request to take shards. */
export interface ShardTake {
  readonly owner: string
  readonly shards: readonly number[]
  readonly timeoutMs: number
}

/**
 * Takes free shards and creates missing rows, in one statement. In ascending order, so that two nodes that take the
 * same shards meet at the first and do not deadlock.
 */
export function takeReturning({ grammar, tables }: StoreContext, { owner, shards, timeoutMs }: ShardTake): Render {
  return (bindings) => {
    const isPostgres = grammar.dialect === 'postgres'
    const me = bindings.bind(owner) + (isPostgres ? '::text' : '')
    const wanted = `SELECT number, ${me}, 1, ${grammar.fromNow(timeoutMs, bindings)} FROM ${numbers(grammar, shards, bindings)}`
    return (
      `INSERT INTO ${tables.shard.quoted} AS l (shard, owner, version, expires_at) ${wanted} WHERE true ORDER BY number ` +
      'ON CONFLICT (shard) DO UPDATE SET owner = excluded.owner, version = l.version + 1, expires_at = excluded.expires_at ' +
      `WHERE l.owner IS NULL OR l.owner = excluded.owner OR l.expires_at <= ${grammar.now} ` +
      'RETURNING shard, owner, version'
    )
  }
}

function numbers(grammar: Grammar, shards: readonly number[], bindings: Bindings): string {
  return grammar.dialect === 'postgres'
    ? `unnest(${bindings.bind(arrayOf(shards))}::smallint[]) AS wanted (number)`
    : `(SELECT value AS number FROM json_each(${bindings.bind(JSON.stringify(shards))})) AS wanted`
}

/**
 * Creates rows for shards that were never held, before MySQL takes them. In ascending order, as {@link takeReturning}.
 */
export function createMissing({ tables }: StoreContext, shards: readonly number[]): Render {
  const rising = shards.toSorted((one, other) => one - other)
  return (bindings) =>
    `INSERT IGNORE INTO ${tables.shard.quoted} (shard) VALUES ${rising.map((shard) => `(${bindings.bind(shard)})`).join(', ')}`
}

/** Selects and locks shards that may be taken. */
export function selectTakeable({ grammar, tables }: StoreContext, { owner, shards }: ShardTake): Render {
  return (bindings) =>
    `SELECT shard, version FROM ${tables.shard.quoted} WHERE ${grammar.isOneOf('shard', shards, bindings)} ` +
    `AND (owner = ${grammar.none.text} OR owner = ${bindings.bind(owner)} OR expires_at <= ${grammar.now}) ORDER BY shard FOR UPDATE`
}

/** Takes shards that {@link selectTakeable} locked. */
export function takeLocked({ grammar, tables }: StoreContext, { owner, shards, timeoutMs }: ShardTake): Render {
  return (bindings) =>
    `UPDATE ${tables.shard.quoted} SET owner = ${bindings.bind(owner)}, version = version + 1, ` +
    `expires_at = ${grammar.fromNow(timeoutMs, bindings)} WHERE ${grammar.isOneOf('shard', shards, bindings)}`
}

/** Extends leases. An expired one that no other node took holds again: its version is unchanged. */
export function renewShards(
  { grammar, tables }: StoreContext,
  leases: readonly ShardLease[],
  timeoutMs: number,
): Render {
  return (bindings) =>
    `UPDATE ${tables.shard.quoted} AS l SET expires_at = ${grammar.fromNow(timeoutMs, bindings)} ` +
    `WHERE ${leasesMatch(grammar, leases, bindings)}`
}

/** Releases shards. Their rows stay, because versions must keep rising. */
export function releaseShards({ grammar, tables }: StoreContext, leases: readonly ShardLease[]): Render {
  return (bindings) =>
    `UPDATE ${tables.shard.quoted} AS l SET owner = ${grammar.none.text} WHERE ${leasesMatch(grammar, leases, bindings)}`
}

/** Selects these leases, for a database that cannot return its changes. */
export function selectLeases({ grammar, tables }: StoreContext, leases: readonly ShardLease[]): Render {
  return (bindings) =>
    `SELECT l.shard, l.owner, l.version FROM ${tables.shard.quoted} AS l WHERE ${leasesMatch(grammar, leases, bindings)}`
}

export function shardOwners({ grammar, tables }: StoreContext): Render {
  return () =>
    `SELECT shard, owner, version FROM ${tables.shard.quoted} ` +
    `WHERE owner <> '' AND expires_at > ${grammar.now} ORDER BY shard`
}
