/** The write side: each command changes an account and writes its event, in one transaction. */

import type { InputOf } from '@waybill/core'
import type { Outbox } from '@waybill/outbox'
import type { Account, AccountTable } from './account/account-table.ts'
import type { AccountEvents } from './events.ts'

type Definitions = AccountEvents['definitions']
/** The schemas of the events, by name. */
export type AccountSchemas = { readonly [N in keyof Definitions]: Definitions[N]['schema'] }
type EventName = keyof AccountSchemas
type Decision<N extends EventName> = {
  readonly name: N
  readonly payload: InputOf<AccountSchemas, N>
  readonly change: Partial<Account>
}

/** A command that the rules of the ledger forbid. Nothing was written. */
export class CommandRefusedError extends Error {}

/** The commands of the ledger. Amounts are minor units of the account's currency. */
export class Ledger<Tx> {
  readonly #accounts: AccountTable<Tx>
  readonly #outbox: Pick<Outbox<AccountSchemas, Tx>, 'write'>

  constructor(accounts: AccountTable<Tx>, outbox: Pick<Outbox<AccountSchemas, Tx>, 'write'>) {
    this.#accounts = accounts
    this.#outbox = outbox
  }

  open(accountId: string, currency: string, balance = 0): Promise<void> {
    return this.#run(accountId, (account) => {
      refuseIf(account !== undefined, `${accountId} exists already`)
      const change = { accountId, currency, balance, reserved: 0, status: 'OPENED', version: 0 } as const
      return { name: 'AccountOpened', payload: { accountId, balance, currency }, change }
    })
  }

  credit(accountId: string, amount: number): Promise<void> {
    return this.#runOpen(accountId, ({ balance }) => {
      return { name: 'FundsCredited', payload: { accountId, amount }, change: { balance: balance + amount } }
    })
  }

  debit(accountId: string, amount: number): Promise<void> {
    return this.#runOpen(accountId, ({ balance, reserved }) => {
      refuseIf(balance - reserved < amount, `${accountId} has not enough funds`)
      return { name: 'FundsDebited', payload: { accountId, amount }, change: { balance: balance - amount } }
    })
  }

  reserve(accountId: string, reservationId: string, amount: number): Promise<void> {
    return this.#runOpen(accountId, ({ balance, reserved }) => {
      refuseIf(balance - reserved < amount, `${accountId} has not enough funds`)
      const payload = { accountId, reservationId, amount }
      return { name: 'FundsReserved', payload, change: { reserved: reserved + amount } }
    })
  }

  cancel(accountId: string, reservationId: string, amount: number): Promise<void> {
    return this.#runOpen(accountId, ({ reserved }) => {
      const payload = { accountId, reservationId, amount }
      return { name: 'ReservationCanceled', payload, change: { reserved: reserved - amount } }
    })
  }

  capture(accountId: string, reservationId: string, amount: number): Promise<void> {
    return this.#runOpen(accountId, ({ balance, reserved }) => {
      const payload = { accountId, reservationId, amount }
      const change = { balance: balance - amount, reserved: reserved - amount }
      return { name: 'ReservationCaptured', payload, change }
    })
  }

  close(accountId: string): Promise<void> {
    return this.#runOpen(accountId, ({ reserved }) => {
      refuseIf(reserved > 0, `${accountId} has reservations`)
      return { name: 'AccountClosed', payload: { accountId }, change: { status: 'CLOSED' } }
    })
  }

  #runOpen<N extends EventName>(accountId: string, decide: (account: Account) => Decision<N>): Promise<void> {
    return this.#run(accountId, (account) => {
      if (account?.status !== 'OPENED') throw new CommandRefusedError(`${accountId} is not open`)
      return decide(account)
    })
  }

  #run<N extends EventName>(accountId: string, decide: (account: Account | undefined) => Decision<N>): Promise<void> {
    return this.#accounts.database.transaction(async (tx) => {
      const before = await this.#accounts.lock(tx, accountId)
      const { name, payload, change } = decide(before)
      const version = (before?.version ?? 0) + 1
      await this.#accounts.save(tx, { ...before, ...change, version } as Account)
      // The version lets the read model recognize repeats and gaps.
      await this.#outbox.write(tx, name, payload, { aggregateVersion: version })
    })
  }
}

function refuseIf(isForbidden: boolean, reason: string): void {
  if (isForbidden) throw new CommandRefusedError(reason)
}
