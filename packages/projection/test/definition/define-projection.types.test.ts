import { test } from 'vitest'
import { z } from 'zod'
import { defineProjection } from '../../src/definition/define-projection.ts'
import { account, accounts } from '../test-accounts.ts'

const columns = { balance: 'decimal', currency: 'text', status: 'text' } as const

/** Compiled, never called. */
export function refused(): void {
  const head = defineProjection({ name: 'x', events: accounts, state: account, columns })
  // @ts-expect-error a misspelled event
  head.on({ FundsCreditted: () => undefined })
  // @ts-expect-error a property that the payload does not have
  head.on({ FundsCredited: (state, { payload }) => state && { ...state, balance: payload.nope } })
  // @ts-expect-error a state that the schema rejects
  head.on({ AccountClosed: (state) => state && { ...state, status: 'GONE' } })
  // @ts-expect-error a column that is not in the state
  defineProjection({ name: 'x', events: accounts, state: account, columns: { ...columns, nope: 'text' } })
  const state = z.object({ one: z.string(), other: z.string() })
  // @ts-expect-error a property without a column
  defineProjection({ name: 'x', events: accounts, state, columns: { one: 'text' } })
}

test('the types of payload and state come from the catalog and the schema', () => {
  defineProjection({ name: 'x', events: accounts, state: account, columns }).on({
    AccountOpened: (_, { payload }) => ({ balance: payload.balance, currency: payload.currency, status: 'OPENED' }),
    AccountClosed: (state) => state && { ...state, status: 'CLOSED' },
  })
})
