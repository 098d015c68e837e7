import { defineEvents } from '@waybill/core'
import { z } from 'zod'

const accountId = z.string().min(1).max(64)
/** Minor units, such as cents: no rounding, no floating point. */
const amount = z.number().int().min(1)
const currency = z.string().regex(/^[A-Z]{3}$/)

const opened = z.object({ accountId, balance: z.number().int().min(0), currency })
const moved = z.object({ accountId, amount })
const reservation = z.object({ accountId, reservationId: z.string().min(1), amount })
const closed = z.object({ accountId })

const key = (payload: { readonly accountId: string }): string => payload.accountId

/** Returns the events of the ledger, in a topic. Events of an account share its key, and so a partition. */
export function accountEvents(topic: string) {
  return defineEvents({
    AccountOpened: { topic, schema: opened, key },
    FundsCredited: { topic, schema: moved, key },
    FundsDebited: { topic, schema: moved, key },
    FundsReserved: { topic, schema: reservation, key },
    ReservationCanceled: { topic, schema: reservation, key },
    ReservationCaptured: { topic, schema: reservation, key },
    AccountClosed: { topic, schema: closed, key },
  })
}

export type AccountEvents = ReturnType<typeof accountEvents>

/** The catalog whose contract files are in `schemas`. */
export const events: AccountEvents = accountEvents('accounts')
