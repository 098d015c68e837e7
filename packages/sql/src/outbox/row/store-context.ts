import type { JsonCodec } from '@waybill/core'
import type { SqlConnection, SqlResult } from '@waybill/core/internal'
import type { Bindings } from '../../dialect/bindings.ts'
import type { Grammar } from '../../dialect/grammar.ts'
import { needsMigration } from '../../error/needs-migration.ts'
import type { OutboxTables } from './outbox-tables.ts'

/** The context that every statement of a store is rendered from. */
export interface StoreContext {
  readonly grammar: Grammar
  readonly tables: OutboxTables
  readonly codec: JsonCodec
}

/** Renders a statement's text and binds its values. */
export type Render = (bindings: Bindings) => string

/** Renders a statement and runs it. @throws a MigrationMissingError if the tables are missing or outdated */
export async function run(connection: SqlConnection, grammar: Grammar, render: Render): Promise<SqlResult> {
  const bindings = grammar.bindings()
  const text = render(bindings)
  return needsMigration('outbox', connection.query(text, bindings.values))
}
