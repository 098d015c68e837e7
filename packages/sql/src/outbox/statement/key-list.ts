import type { EventKey } from '@waybill/outbox/internal'
import type { Bindings } from '../../dialect/bindings.ts'
import type { Grammar } from '../../dialect/grammar.ts'
import { arrayOf } from '../../dialect/postgres-array.ts'

/** Returns keys as the right side of `(aggregate_type, aggregate_id) IN`. */
export function keyList(grammar: Grammar, given: readonly EventKey[], bindings: Bindings): string {
  const pairs = given.map(({ aggregateType, aggregateId }): [string, string] => [aggregateType, aggregateId])
  switch (grammar.dialect) {
    case 'postgres': {
      const types = bindings.bind(arrayOf(pairs.map(([type]) => type)))
      const ids = bindings.bind(arrayOf(pairs.map(([, id]) => id)))
      return `SELECT * FROM unnest(${types}::text[], ${ids}::text[])`
    }
    case 'sqlite':
      return `SELECT value ->> 0, value ->> 1 FROM json_each(${bindings.bind(JSON.stringify(pairs))})`
    case 'mysql':
      return pairs.map(([type, id]) => `(${bindings.bind(type)}, ${bindings.bind(id)})`).join(', ')
  }
}
