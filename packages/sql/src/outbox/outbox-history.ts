import { type EventCatalog, identifyEvent, type JsonCodec, type Schemas, type WireRecord } from '@waybill/core'
import { defaultJsonCodec } from '@waybill/core/internal'
import { hasMethods, instance, integer, resolveOptions, text } from '@waybill/core/option'
import { requireDatabase } from '../database/required-argument.ts'
import type { SqlDatabase } from '../database/sql-database.ts'
import { grammarOf } from '../dialect/grammar-of.ts'
import { defaultOutboxTable, outboxTables } from './row/outbox-tables.ts'
import { decodeRow, type Row } from './row/row-codec.ts'
import { RowUnreadableError } from './row/row-errors.ts'
import { type Render, run, type StoreContext } from './row/store-context.ts'
import { firstRows, publishedRows } from './statement/history-rows.ts'

/** Options of {@link outboxHistory}. */
export interface OutboxHistoryOptions<S extends Schemas> {
  /** The catalog of the events. Rows of other events are left out. */
  readonly events: EventCatalog<S>
  /** The table of the outbox. @defaultValue `outbox_event` */
  readonly table?: string | undefined
  /** Decodes the headers column. @defaultValue flat objects of text */
  readonly codec?: JsonCodec | undefined
  /** The most rows of one query. Large events reduce it. @defaultValue 1,000 */
  readonly rowsPerRead?: number | undefined
}

/** An event of an outbox row, as its record on Kafka. */
export interface OutboxHistoryEvent extends WireRecord {
  /** The number of its row: it rises. */
  readonly position: bigint
}

/** The published events of an outbox whose rows are kept. */
export interface OutboxHistory {
  /** Yields the events after a position, in the order of their rows. */
  (after: bigint): AsyncIterable<OutboxHistoryEvent>
  /**
   * Returns why a read model cannot be built from these rows: some aggregate begins above version 1, because its first rows
   * were purged. Undefined if none does.
   */
  incomplete(): Promise<string | undefined>
}

const optionRules = {
  events: instance<EventCatalog<Schemas>>('a catalog from defineEvents', (value) =>
    hasMethods((value as Partial<EventCatalog<Schemas>> | null)?.wireFormat, 'encode'),
  ),
  table: text({ default: defaultOutboxTable, because: 'it is the specified name' }),
  codec: instance<JsonCodec>('a JsonCodec', (value) => hasMethods(value, 'toJson', 'parseObject'), {
    default: defaultJsonCodec,
    because: 'event headers are flat objects of text',
  }),
  rowsPerRead: integer({ default: 1_000, min: 1, max: 10_000, because: 'more do not make a query faster' }),
}

/** The first read is small: nothing is known of the size of events. */
const firstRead = 50
/** The bytes that a read aims at. */
const bytesPerRead = 8 * 1_048_576
const mostNamed = 5

/**
 * Returns the published events of an outbox with `whenDone: 'KEEP'`, as the history of a rebuild: for topics whose retention
 * has removed the first events. Pending and dead rows are left out: the topics do not have them either.
 *
 * @throws an OptionsError, or an ArgumentError for an invalid table name
 */
export function outboxHistory<Tx, S extends Schemas>(
  database: Pick<SqlDatabase<Tx>, 'connection' | 'dialect'>,
  options: OutboxHistoryOptions<S>,
): OutboxHistory {
  requireDatabase('outboxHistory', database)
  const { events, table, codec, rowsPerRead } = resolveOptions('outboxHistory', optionRules, options)
  const grammar = grammarOf(database.dialect)
  const context: StoreContext = { grammar, tables: outboxTables(table, database.dialect), codec }
  const eventTypes = Object.keys(events.definitions)

  async function read(render: Render): Promise<readonly OutboxHistoryEvent[]> {
    const { rows } = await database.connection((connection) => run(connection, grammar, render))
    return rows.map((row) => eventOf(row, events, codec))
  }

  async function* after(position: bigint): AsyncGenerator<OutboxHistoryEvent> {
    let limit = Math.min(firstRead, rowsPerRead)
    for (let last = position; ; ) {
      const page = await read(publishedRows(context, eventTypes, last, limit))
      yield* page
      if (page.length < limit) return
      last = page.at(-1)?.position ?? last
      const bytes = page.reduce((sum, { value }) => sum + (value?.length ?? 0), 0)
      limit = Math.max(1, Math.min(rowsPerRead, Math.floor((bytesPerRead * page.length) / Math.max(bytes, 1))))
    }
  }

  async function incomplete(): Promise<string | undefined> {
    const found: string[] = []
    for (let last: string | null = null; found.length < mostNamed; ) {
      const page: readonly OutboxHistoryEvent[] = await read(firstRows(context, eventTypes, last, rowsPerRead))
      for (const event of page) {
        const { aggregateId, aggregateVersion } = identifyEvent(events, event)
        last = aggregateId
        if (aggregateVersion !== null && aggregateVersion > 1)
          found.push(`${JSON.stringify(aggregateId)} begins at version ${aggregateVersion}`)
      }
      if (page.length < rowsPerRead) break
    }
    return found.length === 0
      ? undefined
      : `the first rows of ${table} are gone: ${found.slice(0, mostNamed).join(', ')}${found.length >= mostNamed ? ', …' : ''}`
  }

  return Object.assign(after, { incomplete })
}

/** @throws RowUnreadableError */
function eventOf(row: Row, events: EventCatalog<Schemas>, codec: JsonCodec): OutboxHistoryEvent {
  const found = decodeRow(row, codec)
  if (found.event === null) throw found.problem ?? new RowUnreadableError(found.seq, 'it was deleted')
  return { ...events.wireFormat.encode(found.event), position: found.seq }
}
