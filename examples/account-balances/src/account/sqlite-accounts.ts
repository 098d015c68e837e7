import { DatabaseSync } from 'node:sqlite'
import { fromSqlite } from '@waybill/sql'
import { type AccountTable, accountOf, columns, createAccounts, overwrite, valuesOf } from './account-table.ts'

/** Accounts in a SQLite file, which has one writer at a time: no row needs a lock of its own. */
export function openSqliteAccounts(file: string): AccountTable<DatabaseSync> {
  const handle = new DatabaseSync(file, { timeout: 5_000 })
  handle.exec('PRAGMA journal_mode = WAL')
  return {
    database: fromSqlite(handle),
    async create() {
      handle.exec(createAccounts)
    },
    async lock(tx, accountId) {
      const row = tx.prepare(`SELECT ${columns} FROM ledger_account WHERE account_id = ?`).get(accountId)
      return row && accountOf(row)
    },
    async save(tx, account) {
      const into = `INSERT INTO ledger_account (${columns}) VALUES (?, ?, ?, ?, ?, ?)`
      tx.prepare(`${into} ON CONFLICT (account_id) DO UPDATE SET ${overwrite}`).run(...valuesOf(account))
    },
    async all() {
      return handle.prepare(`SELECT ${columns} FROM ledger_account ORDER BY account_id`).all().map(accountOf)
    },
    async [Symbol.asyncDispose]() {
      handle.close()
    },
  }
}
