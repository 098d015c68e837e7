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

/** Options of an outbox store. */
export interface OutboxStoreOptions {
  /** The table; on PostgreSQL it may include a schema. @defaultValue `outbox_event` */
  readonly table?: string | undefined
  /** Encodes and decodes the headers column. @defaultValue flat objects of text */
  readonly codec?: JsonCodec | undefined
}

const optionRules = {
  table: text({ default: defaultOutboxTable, because: 'it is the specified name' }),
  codec: instance<JsonCodec>('a JsonCodec', (value) => hasMethods(value, 'toJson', 'parseObject'), {
    default: defaultJsonCodec,
    because: 'event headers are flat objects of text',
  }),
}

/**
 * Creates the outbox store of a database, in its dialect. {@link migrate} creates the table.
 *
 * @throws an OptionsError, or an ArgumentError for an invalid table name
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
