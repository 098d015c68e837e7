import { fromPg } from '@waybill/sql'
import { Pool, type PoolClient } from 'pg'
import { type AccountTable, accountOf, columns, createAccounts, overwrite, valuesOf } from './account-table.ts'

/** Accounts in a schema of PostgreSQL. */
export function openPostgresAccounts(url: string, schema: string): AccountTable<PoolClient> {
  const pool = new Pool({ connectionString: url, options: `-c search_path=${schema}` })
  // An idle connection that breaks is replaced; without a listener its error would end the process.
  pool.on('error', () => {})
  return {
    database: fromPg(pool),
    async create() {
      await pool.query(createAccounts)
    },
    async lock(tx, accountId) {
      const text = `SELECT ${columns} FROM ledger_account WHERE account_id = $1 FOR UPDATE`
      const { rows } = await tx.query<Record<string, unknown>>(text, [accountId])
      return rows[0] && accountOf(rows[0])
    },
    async save(tx, account) {
      const into = `INSERT INTO ledger_account (${columns}) VALUES ($1, $2, $3, $4, $5, $6)`
      await tx.query(`${into} ON CONFLICT (account_id) DO UPDATE SET ${overwrite}`, valuesOf(account))
    },
    async all() {
      const { rows } = await pool.query(`SELECT ${columns} FROM ledger_account ORDER BY account_id`)
      return rows.map(accountOf)
    },
    [Symbol.asyncDispose]: () => pool.end(),
  }
}
