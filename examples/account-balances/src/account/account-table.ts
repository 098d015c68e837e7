import type { SqlDatabase } from '@waybill/sql'

/** An account as the ledger has it. */
export interface Account {
  readonly accountId: string
  readonly balance: number
  readonly reserved: number
  readonly currency: string
  readonly status: 'OPENED' | 'CLOSED'
  /** The number of its events. */
  readonly version: number
}

/** The ledger's own table. `Tx` is the driver's handle: an account and its event are written through the same one. */
export interface AccountTable<Tx> extends AsyncDisposable {
  readonly database: SqlDatabase<Tx>
  create(): Promise<void>
  /** Returns an account, locked until the transaction ends: its events commit in the order of their versions. */
  lock(tx: Tx, accountId: string): Promise<Account | undefined>
  save(tx: Tx, account: Account): Promise<void>
  all(): Promise<readonly Account[]>
}

export const columns = 'account_id, balance, reserved, currency, status, version'

export const createAccounts =
  'CREATE TABLE IF NOT EXISTS ledger_account (account_id TEXT PRIMARY KEY, balance BIGINT NOT NULL, ' +
  'reserved BIGINT NOT NULL, currency TEXT NOT NULL, status TEXT NOT NULL, version BIGINT NOT NULL)'

export const overwrite =
  'balance = excluded.balance, reserved = excluded.reserved, status = excluded.status, version = excluded.version'

export function valuesOf({ accountId, balance, reserved, currency, status, version }: Account): (string | number)[] {
  return [accountId, balance, reserved, currency, status, version]
}

/** Returns the account of a row. Drivers return large integers as text. */
export function accountOf(row: Readonly<Record<string, unknown>>): Account {
  return {
    accountId: String(row['account_id']),
    balance: Number(row['balance']),
    reserved: Number(row['reserved']),
    currency: String(row['currency']),
    status: row['status'] === 'CLOSED' ? 'CLOSED' : 'OPENED',
    version: Number(row['version']),
  }
}
