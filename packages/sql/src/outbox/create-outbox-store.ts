import { type JsonCodec } from '@waybill/core'
import { defaultJsonCodec } from '@waybill/core/internal'
import { hasMethods, instance, resolveOptions, text } from '@waybill/core/option'
import type { OutboxStore } from '@waybill/outbox'
import { requireDatabase } from '../database/required-argument.ts'
import type { SqlDatabase } from '../database/sql-database.ts'
import { grammarOf } from '../dialect/grammar-of.ts'
import { mysqlSteps } from './mysql-steps.ts'
import { returningSteps } from './returning-steps.ts'
import { defaultOutboxTable, outboxTables } from './row/outbox-tables.ts'
import type { StoreContext } from './row/store-context.ts'
import { SqlOutboxStore } from './sql-outbox-store.ts'

/** What an outbox store may be told. */
export interface OutboxStoreOptions {
  /** The table; on PostgreSQL a schema may stand before it. @defaultValue `outbox_event` */
  readonly table?: string | undefined
  /** Writes and reads the column of headers (S1-020). @defaultValue flat objects of text */
  readonly codec?: JsonCodec | undefined
}

const optionRules = {
  table: text({ default: defaultOutboxTable, because: 'the specification calls it so' }),
  codec: instance<JsonCodec>('a JsonCodec', (value) => hasMethods(value, 'toJson', 'parseObject'), {
    default: defaultJsonCodec,
    because: 'headers of events are flat objects of text',
  }),
}

/**
 * The outbox table of a database, in the dialect that the database speaks (S1-063). {@link migrate} makes the table.
 *
 * @throws an OptionsError or an ArgumentError for a name that no table can have
 */
export function createOutboxStore<Tx>(
  database: Pick<SqlDatabase<Tx>, 'dialect'>,
  options: OutboxStoreOptions = {},
): OutboxStore {
  requireDatabase('createOutboxStore', database)
  const { table, codec } = resolveOptions('createOutboxStore', optionRules, options)
  const { dialect } = database
  const context: StoreContext = { grammar: grammarOf(dialect), tables: outboxTables(table, dialect), codec }
  return new SqlOutboxStore(context, dialect === 'mysql' ? mysqlSteps(context) : returningSteps(context))
}
