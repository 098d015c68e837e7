import type { EarlierPart, EventKey } from '@waybill/outbox/internal'
import type { Bindings } from '../../dialect/bindings.ts'
import { arrayOf } from '../../dialect/postgres-array.ts'
import type { Render, StoreContext } from '../row/store-context.ts'
import { keyList } from './key-list.ts'

/**
 * Selects the first row of some keys in each part of the index below a shard read. Nearly always there is none, and
 * each part is one scan over rows that the caller has in memory.
 */
export function earlierRows(context: StoreContext, parts: readonly EarlierPart[]): Render {
  return context.grammar.dialect === 'postgres' ? earlierLateral(context, parts) : earlierUnion(context, parts)
}

/** Looks up keys and numbers in hashes built once for all parts: each belongs to one shard. */
function earlierLateral({ grammar, tables }: StoreContext, parts: readonly EarlierPart[]): Render {
  return (bindings) => {
    const shards = bindings.bind(arrayOf(parts.map(({ shard }) => shard)))
    const starts = bindings.bind(arrayOf(parts.map(({ above }) => above ?? 0n)))
    const ends = bindings.bind(arrayOf(parts.map(({ upTo }) => upTo)))
    const keys = keyList(grammar, allKeys(parts), bindings)
    const known = bindings.bind(arrayOf(parts.flatMap(({ except }) => except)))
    return (
      `SELECT e.* FROM unnest(${shards}::smallint[], ${starts}::bigint[], ${ends}::bigint[]) ` +
      'AS part (number, above, up_to) CROSS JOIN LATERAL (' +
      `SELECT shard, seq FROM ${tables.event.quoted} WHERE ${tables.indexes.pending.holds} AND shard = part.number ` +
      `AND seq > part.above AND seq <= part.up_to AND seq NOT IN (SELECT unnest(${known}::bigint[])) ` +
      `AND (aggregate_type, aggregate_id) IN (${keys}) ORDER BY seq LIMIT 1) AS e`
    )
  }
}

function earlierUnion({ grammar, tables }: StoreContext, parts: readonly EarlierPart[]): Render {
  const { name, holds, columns } = tables.indexes.pending
  const from = `SELECT shard, seq FROM ${tables.event.quoted}${grammar.indexHint(name)}`
  const firstOf = ({ shard, above, upTo, keys, except }: EarlierPart, bindings: Bindings): string => {
    const conditions = [holds, `${columns[0]} = ${bindings.bind(shard)}`, `seq <= ${bindings.bind(Number(upTo))}`]
    if (above !== null) conditions.push(`seq > ${bindings.bind(Number(above))}`)
    if (except.length > 0) conditions.push(`NOT (${grammar.isOneOf('seq', except, bindings)})`)
    conditions.push(`(aggregate_type, aggregate_id) IN (${keyList(grammar, keys, bindings)})`)
    const row = `(${from} WHERE ${conditions.join(' AND ')} ORDER BY seq LIMIT 1)`
    return grammar.dialect === 'mysql' ? row : `SELECT * FROM ${row} AS part_${shard}`
  }
  return (bindings) => parts.map((part) => firstOf(part, bindings)).join(' UNION ALL ')
}

function allKeys(parts: readonly EarlierPart[]): readonly EventKey[] {
  return parts.flatMap(({ keys }) => keys)
}
