import type { BuildTable, ProjectionTransaction, StoredRow } from '@waybill/core/internal'
import { compareKeys } from '@waybill/core/internal'
import { absentRow } from '../fold/fold-batch.ts'

/**
 * Returns the rows of these keys, all of them locked. A row that does not exist cannot be locked, so it is inserted without a
 * state: two transactions that both computed its first state would otherwise lose one of them.
 */
export async function lockRows(
  tx: ProjectionTransaction,
  table: BuildTable,
  keys: readonly string[],
): Promise<readonly StoredRow[]> {
  const rows = await tx.readLocked(table, keys)
  if (rows.length === keys.length) return rows
  const known = new Set(rows.map(({ key }) => key))
  const missing = keys.filter((key) => !known.has(key)).toSorted(compareKeys)
  await tx.write(table, missing.map(absentRow))
  return tx.readLocked(table, keys)
}

/**
 * Locks the rows that a transaction writes and those that it quarantines, in the order of their keys: one after the other,
 * two transactions could wait for each other.
 */
export async function lockBeforeQuarantine(
  tx: ProjectionTransaction,
  table: BuildTable,
  rows: readonly StoredRow[],
  quarantined: readonly { readonly key: string }[],
): Promise<void> {
  if (rows.length === 0 || quarantined.length === 0) return
  await tx.readLocked(table, [...new Set([...rows, ...quarantined].map(({ key }) => key))])
}
