import type { BuildTable, ProjectionStore, ProjectionTransaction, StoredRow } from '@waybill/core/internal'
import { absentRow } from '../fold/fold-batch.ts'
import { inKeyOrder } from '../fold/in-key-order.ts'

/** Locks the rows of a batch in its transaction, and returns them. */
export type LockRows = (tx: ProjectionTransaction, keys: readonly string[]) => Promise<readonly StoredRow[]>

/**
 * Returns how to lock the rows of these keys, or of some of them, those that do not exist included.
 *
 * A row that does not exist cannot be locked, so it is inserted without a state: two transactions that both computed its
 * first state would otherwise lose one of them. Locking what exists and then inserting the rest takes locks out of the order
 * of the keys, and two transactions could wait for each other. So the rows are read here, before the transaction: if one is
 * missing, a single statement inserts or locks all of them in that order.
 */
export async function rowLocks(store: ProjectionStore, table: BuildTable, keys: readonly string[]): Promise<LockRows> {
  const known = await store.read(table, keys)
  const isWhole = known.length === keys.length
  return async (tx, locked) => {
    if (!isWhole) await lockOrInsert(tx, table, locked)
    return tx.readLocked(table, locked)
  }
}

/**
 * Locks the rows that a transaction writes and those that it quarantines, in the order of their keys and whether they exist
 * or not: one after the other, two transactions could wait for each other.
 */
export async function lockBeforeQuarantine(
  tx: ProjectionTransaction,
  table: BuildTable,
  rows: readonly StoredRow[],
  quarantined: readonly { readonly key: string }[],
): Promise<void> {
  if (rows.length === 0 || quarantined.length === 0) return
  await lockOrInsert(tx, table, [...new Set([...rows, ...quarantined].map(({ key }) => key))])
}

/** Locks rows in the order of their keys; inserts those that do not exist. A write at version 0 changes none that does. */
async function lockOrInsert(tx: ProjectionTransaction, table: BuildTable, keys: readonly string[]): Promise<void> {
  await tx.write(table, inKeyOrder(keys.map(absentRow)))
}
