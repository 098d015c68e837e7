import { defineEvents } from '@waybill/core'
import { z } from 'zod'
import { defineProjection } from '../src/definition/define-projection.ts'
import type { AnyProjectedEvent } from '../src/fold/fold-batch.ts'

/** The catalog of a small ledger. */
export const accounts = defineEvents({
  AccountOpened: {
    topic: 'accounts',
    schema: z.object({ accountId: z.string(), balance: z.string(), currency: z.enum(['EUR', 'USD']) }),
    key: (payload) => payload.accountId,
  },
  FundsCredited: {
    topic: 'accounts',
    schema: z.object({ accountId: z.string(), amount: z.string() }),
    key: (payload) => payload.accountId,
  },
  AccountRenamed: {
    topic: 'accounts',
    schema: z.object({ accountId: z.string() }),
    key: (payload) => payload.accountId,
  },
  AccountClosed: {
    topic: 'accounts',
    schema: z.object({ accountId: z.string() }),
    key: (payload) => payload.accountId,
  },
  AccountErased: {
    topic: 'accounts',
    schema: z.object({ accountId: z.string() }),
    key: (payload) => payload.accountId,
  },
})

/** The row of an account. */
export const account = z.object({
  balance: z.string(),
  currency: z.string(),
  status: z.enum(['OPENED', 'CLOSED']),
})

const head = {
  events: accounts,
  state: account,
  columns: { balance: 'decimal', currency: 'text', status: { type: 'text', isIndexed: true } },
  keyColumn: 'account_id',
} as const

type Fold = Parameters<
  ReturnType<
    typeof defineProjection<(typeof accounts)['definitions'] extends never ? never : Schemas, typeof account>
  >['on']
>[0]
type Schemas = { [N in keyof typeof accounts.definitions]: (typeof accounts.definitions)[N]['schema'] }

const fold: Fold = {
  AccountOpened: (_, { payload }) => ({ balance: payload.balance, currency: payload.currency, status: 'OPENED' }),
  FundsCredited: (state, { payload }) => {
    if (payload.amount === 'poison') throw new RangeError('not a number')
    return state && { ...state, balance: String(BigInt(state.balance) + BigInt(payload.amount)) }
  },
  AccountClosed: (state) => state && { ...state, status: 'CLOSED' },
  AccountErased: () => undefined,
}

/** Balances by version of the account. AccountRenamed has no function: it only raises the version. */
export const balances = defineProjection({ name: 'account_balance', ...head }).on(fold)

/** The same fold for events without versions. */
export const balancesByPosition = defineProjection({ name: 'account_position', ...head, versions: 'POSITION' }).on(fold)

/** Returns an event of an account: `opened('a', 1)`. */
export function opened(key: string, version: number | null, balance = '10'): AnyProjectedEvent {
  return event('AccountOpened', key, version, { accountId: key, balance, currency: 'EUR' })
}

export function credited(key: string, version: number | null, amount = '1'): AnyProjectedEvent {
  return event('FundsCredited', key, version, { accountId: key, amount })
}

export function event(name: string, key: string, aggregateVersion: number | null, payload: unknown): AnyProjectedEvent {
  return {
    id: `${key}-${aggregateVersion}`,
    name,
    version: 1,
    key,
    payload,
    occurredAt: null,
    aggregateType: 'account',
    aggregateVersion,
    tenantId: null,
    headers: undefined as never,
  }
}
