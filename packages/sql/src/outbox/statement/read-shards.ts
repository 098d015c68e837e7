import type { EventKey, ShardPart, ShardsQuery } from '@waybill/outbox/internal'
import type { Bindings } from '../../dialect/bindings.ts'
import type { Grammar } from '../../dialect/grammar.ts'
import { arrayOf } from '../../dialect/postgres-array.ts'
import { shardColumns } from '../row/row-codec.ts'
import type { Render, StoreContext } from '../row/store-context.ts'
import { keyList } from './key-list.ts'
import { type MeasuredColumns, measuredColumns } from './measured-rows.ts'

/**
 * Reads shards; each is one scan of its part of the index, independent of the others. The JSON of large rows is left
 * out: see measured-rows.ts.
 */
export function readShards(context: StoreContext, query: ShardsQuery, inlineBytes: number): Render {
  const { grammar } = context
  const columns = measuredColumns(grammar, inlineBytes, shardColumns(grammar))
  return grammar.dialect === 'postgres' ? readLateral(context, query, columns) : readUnion(context, query, columns)
}

/**
 * Reads any number of shards with one text. Held keys are looked up in one hash: a key belongs to one shard, so the
 * keys of all shards can share a list.
 */
function readLateral(context: StoreContext, { shards, limit }: ShardsQuery, columns: MeasuredColumns): Render {
  const { grammar, tables } = context
  return (bindings) => {
    const numbers = bindings.bind(arrayOf(shards.map(({ shard }) => shard)))
    const floors = bindings.bind(arrayOf(shards.map(({ floor }) => floor ?? 0n)))
    const conditions = [
      tables.indexes.pending.holds,
      'shard = part.number',
      'seq > part.floor',
      ...visible(
        grammar,
        shards.flatMap(({ without }) => without),
        bindings,
      ),
    ]
    return (
      `SELECT ${columns.outer?.(bindings) ?? 'e.*'} ` +
      `FROM unnest(${numbers}::smallint[], ${floors}::bigint[]) AS part (number, floor) CROSS JOIN LATERAL (` +
      `SELECT ${columns.inner(bindings)} FROM ${tables.event.quoted} WHERE ${conditions.join(' AND ')} ` +
      `ORDER BY seq LIMIT ${bindings.bind(limit)}) AS e`
    )
  }
}

/**
 * Reads shards by UNION, since MariaDB and SQLite have no lateral joins. SQLite accepts a limited SELECT in a union
 * only as a subquery; MariaDB would write each subquery to a temporary table on disk, because it contains long texts,
 * but accepts parentheses.
 */
function readUnion(context: StoreContext, { shards, limit }: ShardsQuery, columns: MeasuredColumns): Render {
  const { grammar, tables } = context
  const { name, holds, columns: order } = tables.indexes.pending
  const readOne = ({ shard, floor, without }: ShardPart, bindings: Bindings): string => {
    const from = `SELECT ${columns.inner(bindings)} FROM ${tables.event.quoted}${grammar.indexHint(name)}`
    const conditions = [holds, `${order[0]} = ${bindings.bind(shard)}`]
    if (floor !== null) conditions.push(`seq > ${bindings.bind(Number(floor))}`)
    conditions.push(...visible(grammar, without, bindings))
    const rows = `(${from} WHERE ${conditions.join(' AND ')} ORDER BY seq LIMIT ${bindings.bind(limit)})`
    return grammar.dialect === 'mysql' ? rows : `SELECT * FROM ${rows} AS part_${shard}`
  }
  return (bindings) => shards.map((part) => readOne(part, bindings)).join(' UNION ALL ')
}

/** Returns the conditions of visible rows: those with a key unless it is held back, those without once they are due. */
function visible(grammar: Grammar, without: readonly EventKey[], bindings: Bindings): string[] {
  const due = `(aggregate_id IS NOT NULL OR available_at <= ${grammar.now})`
  if (without.length === 0) return [grammar.likely(due)]
  return [
    grammar.likely(due),
    `(aggregate_id IS NULL OR (aggregate_type, aggregate_id) NOT IN (${keyList(grammar, without, bindings)}))`,
  ]
}
