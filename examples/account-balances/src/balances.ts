import { NonRetryableError } from '@waybill/core'
import { defineProjection } from '@waybill/projection'
import { z } from 'zod'
import type { AccountEvents } from './events.ts'

const currencies = ['EUR', 'USD', 'GBP'] as const
type Currency = (typeof currencies)[number]

const balance = z.object({
  balance: z.number().int(),
  reserved: z.number().int(),
  currency: z.enum(currencies),
  status: z.enum(['OPENED', 'CLOSED']),
})

/** The balance of an account, as readers see it. */
export type Balance = z.infer<typeof balance>

/** Returns the read model: the view `account_balance`, one row for each account. */
export function accountBalances(events: AccountEvents) {
  return defineProjection({
    name: 'account_balance',
    events,
    state: balance,
    columns: { balance: 'integer', reserved: 'integer', currency: { type: 'text', isIndexed: true }, status: 'text' },
    keyColumn: 'account_id',
  }).on({
    AccountOpened: (_, { payload }) => ({
      balance: payload.balance,
      reserved: 0,
      currency: supported(payload.currency),
      status: 'OPENED',
    }),
    FundsCredited: (account, { payload }) => account && { ...account, balance: account.balance + payload.amount },
    FundsDebited: (account, { payload }) => account && { ...account, balance: account.balance - payload.amount },
    FundsReserved: (account, { payload }) => account && { ...account, reserved: account.reserved + payload.amount },
    ReservationCanceled: (account, { payload }) =>
      account && { ...account, reserved: account.reserved - payload.amount },
    ReservationCaptured: (account, { payload }) =>
      account && {
        ...account,
        balance: account.balance - payload.amount,
        reserved: account.reserved - payload.amount,
      },
    AccountClosed: (account) => account && { ...account, status: 'CLOSED' },
  })
}

/** @throws NonRetryableError: the event becomes a dead letter at once, and its account is quarantined */
function supported(given: string): Currency {
  const currency = currencies.find((one) => one === given)
  if (currency === undefined) throw new NonRetryableError(`The currency ${given} is not supported.`)
  return currency
}
