import type { SqlConnection } from '@waybill/core/internal'
import { bytesOf, type Row } from './row/row-codec.ts'
import { run, type StoreContext } from './row/store-context.ts'
import { loadJson, withJson } from './statement/measured-rows.ts'

/** Loads the JSON of rows above `most` bytes, which the statement that found them left out. */
export async function loadLarge(
  connection: SqlConnection,
  context: StoreContext,
  rows: readonly Row[],
  most: number,
): Promise<readonly Row[]> {
  const large = rows.filter((row) => bytesOf(row) > most)
  if (large.length === 0) return rows
  const { rows: loaded } = await run(connection, context.grammar, loadJson(context, large))
  return withJson(rows, most, loaded)
}
