import { type InsertOptions, rowStatusCode } from '@waybill/outbox/internal'
import type { Bindings } from '../../dialect/bindings.ts'
import { arrayOf } from '../../dialect/postgres-array.ts'
import type { StorableEvent } from '../row/storable-event.ts'
import type { Render, StoreContext } from '../row/store-context.ts'

/** A column that comes from the event. */
interface EventColumn {
  readonly column: string
  /** The parameter type on PostgreSQL, which converts text to JSON itself. */
  readonly type: 'text' | 'bigint' | 'smallint'
  readonly isJson?: true
  readonly of: (event: StorableEvent) => string | number | null
}

const eventColumns: readonly EventColumn[] = [
  { column: 'event_id', type: 'text', of: (event) => event.eventId },
  { column: 'event_type', type: 'text', of: (event) => event.eventType },
  { column: 'aggregate_type', type: 'text', of: (event) => event.aggregateType },
  { column: 'aggregate_id', type: 'text', of: (event) => event.aggregateId },
  { column: 'tenant_id', type: 'text', of: (event) => event.tenantId },
  { column: 'payload', type: 'text', isJson: true, of: (event) => event.payload },
  { column: 'headers', type: 'text', isJson: true, of: (event) => event.headers },
  { column: 'occurred_at', type: 'bigint', of: (event) => event.occurredAt },
  { column: 'shard', type: 'smallint', of: (event) => event.shard },
]
const eventColumnNames = eventColumns.map(({ column }) => column)

/** A column with the same value in all rows of a call: its name, its value, and the value's type on PostgreSQL. */
type SharedColumn = readonly [column: string, value: string, type: string]

function sharedColumns(
  { grammar }: StoreContext,
  { lease, availableAt }: InsertOptions,
  bindings: Bindings,
): readonly SharedColumn[] {
  const isDelayed = availableAt !== null
  return [
    // A delayed event is stored like a retry, which keeps it out of the index of new rows.
    ['status', String(isDelayed ? rowStatusCode.RETRY : rowStatusCode.NEW), 'smallint'],
    ['available_at', isDelayed ? grammar.instant(availableAt, bindings) : grammar.now, 'timestamptz'],
    ['created_at', grammar.now, 'timestamptz'],
    ...(lease === null
      ? []
      : ([
          ['locked_by', bindings.bind(lease.owner), 'text'],
          ['locked_at', grammar.now, 'timestamptz'],
          ['lease_version', bindings.bind(Number(lease.version)), 'bigint'],
          ['locked_until', grammar.fromNow(lease.timeoutMs, bindings), 'timestamptz'],
        ] as const)),
  ]
}

/**
 * Inserts any number of rows with one short text, which drivers that prepare by text keep prepared. Rows are inserted
 * in the order of the events, so sorted sequence numbers match them one by one.
 */
export function insertByArrays(
  context: StoreContext,
  events: readonly StorableEvent[],
  options: InsertOptions,
): Render {
  const { jsonFrom } = context.grammar
  return (bindings) => {
    const arrays = eventColumns.map(({ type, of }) => `${bindings.bind(arrayOf(events.map(of)))}::${type}[]`)
    const shared = sharedColumns(context, options, bindings)
    const columns = [...eventColumnNames, ...shared.map(([column]) => column)]
    const values = [
      ...eventColumns.map(({ column, isJson }) => (isJson ? jsonFrom(`e.${column}`) : `e.${column}`)),
      ...shared.map(([, value, type]) => `${value}::${type}`),
    ]
    return (
      `INSERT INTO ${context.tables.event.quoted} (${columns.join(', ')}) SELECT ${values.join(', ')} ` +
      `FROM unnest(${arrays.join(', ')}) WITH ORDINALITY AS e (${eventColumnNames.join(', ')}, place) ` +
      'ORDER BY e.place'
    )
  }
}

/** Inserts a list of values per row: for few rows, and for databases without array parameters. */
export function insertByValues(
  context: StoreContext,
  events: readonly StorableEvent[],
  options: InsertOptions,
): Render {
  const { jsonFrom } = context.grammar
  return (bindings) => {
    let columns: string[] = []
    const rows = events.map((event) => {
      const own = eventColumns.map(({ of, isJson }) => {
        const value = bindings.bind(of(event))
        return isJson ? jsonFrom(value) : value
      })
      const shared = sharedColumns(context, options, bindings)
      columns = [...eventColumnNames, ...shared.map(([column]) => column)]
      return `(${[...own, ...shared.map(([, value]) => value)].join(', ')})`
    })
    return `INSERT INTO ${context.tables.event.quoted} (${columns.join(', ')}) VALUES ${rows.join(', ')}`
  }
}
