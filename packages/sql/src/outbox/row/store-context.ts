import type { JsonCodec } from '@waybill/core'
import type { SqlConnection, SqlResult } from '@waybill/core/internal'
import type { Bindings } from '../../dialect/bindings.ts'
import type { Grammar } from '../../dialect/grammar.ts'
import { needsMigration } from '../../error/needs-migration.ts'
import type { OutboxTables } from './outbox-tables.ts'

/** What every statement of a store is rendered from. */
export interface StoreContext {
  readonly grammar: Grammar
  readonly tables: OutboxTables
  readonly codec: JsonCodec
}

/** Writes a statement's text, binding its values on the way. */
export type Render = (bindings: Bindings) => string

/** Renders a statement and runs it. @throws a MigrationMissingError where the tables are not as they should be */
export async function run(connection: SqlConnection, grammar: Grammar, render: Render): Promise<SqlResult> {
  const bindings = grammar.bindings()
  const text = render(bindings)
  return needsMigration('outbox', connection.query(text, bindings.values))
}
