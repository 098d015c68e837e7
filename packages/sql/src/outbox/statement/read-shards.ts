import type { EventKey, ShardPart, ShardsQuery } from '@waybill/outbox/internal'
import type { Bindings } from '../../dialect/bindings.ts'
import type { Grammar } from '../../dialect/grammar.ts'
import { arrayOf } from '../../dialect/postgres-array.ts'
import { shardRowColumns } from '../row/row-codec.ts'
import type { Render, StoreContext } from '../row/store-context.ts'
import { keyList } from './key-list.ts'

/** Each shard is one walk of its part of the index, whatever lies in the others. */
export function readShards(context: StoreContext, query: ShardsQuery): Render {
  return context.grammar.dialect === 'postgres' ? readLateral(context, query) : readUnion(context, query)
}

/**
 * One text for any number of shards. What holds a key back is looked up in a hash that is made once for all: a key lies
 * in one shard, so the keys of all shards can be one list.
 */
function readLateral(context: StoreContext, { shards, limit }: ShardsQuery): Render {
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
      `SELECT e.* FROM unnest(${numbers}::smallint[], ${floors}::bigint[]) AS part (number, floor) CROSS JOIN LATERAL (` +
      `SELECT ${shardRowColumns(grammar)} FROM ${tables.event.quoted} WHERE ${conditions.join(' AND ')} ` +
      `ORDER BY seq LIMIT ${bindings.bind(limit)}) AS e`
    )
  }
}

/**
 * MariaDB and SQLite cannot join laterally. SQLite takes a limited SELECT into a union only as a subquery; MariaDB would
 * write each such subquery to a temporary table on disk, because it holds long texts, and takes it in parentheses.
 */
function readUnion(context: StoreContext, { shards, limit }: ShardsQuery): Render {
  const { grammar, tables } = context
  const { name, holds, columns } = tables.indexes.pending
  const from = `SELECT ${shardRowColumns(grammar)} FROM ${tables.event.quoted}${grammar.indexHint(name)}`
  const readOne = ({ shard, floor, without }: ShardPart, bindings: Bindings): string => {
    const conditions = [holds, `${columns[0]} = ${bindings.bind(shard)}`]
    if (floor !== null) conditions.push(`seq > ${bindings.bind(Number(floor))}`)
    conditions.push(...visible(grammar, without, bindings))
    const rows = `(${from} WHERE ${conditions.join(' AND ')} ORDER BY seq LIMIT ${bindings.bind(limit)})`
    return grammar.dialect === 'mysql' ? rows : `SELECT * FROM ${rows} AS part_${shard}`
  }
  return (bindings) => shards.map((part) => readOne(part, bindings)).join(' UNION ALL ')
}

/** Rows with a key show always, unless their key is held back; those without only once they are due. */
function visible(grammar: Grammar, without: readonly EventKey[], bindings: Bindings): string[] {
  const due = `(aggregate_id IS NOT NULL OR available_at <= ${grammar.now})`
  if (without.length === 0) return [grammar.likely(due)]
  return [
    grammar.likely(due),
    `(aggregate_id IS NULL OR (aggregate_type, aggregate_id) NOT IN (${keyList(grammar, without, bindings)}))`,
  ]
}
