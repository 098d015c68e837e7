import { defineEvents, type EventCatalog, encodeEvent, RecordHeaders, type StandardSchema } from '@waybill/core'
import type { OutRecord } from '@waybill/kafka'
import { defineProjection, type Projection } from '@waybill/projection'
import { z } from 'zod'

const credited = z.object({ account: z.string(), amount: z.number().int(), version: z.number().int() })
const total = z.object({ total: z.number().int(), credits: z.number().int() })
const totalOfFirst = z.object({ total: z.number().int() })

/** The events of these tests, by name. */
export type CreditSchemas = { readonly Credited: StandardSchema & typeof credited }

/** Keeps totals small. */
const prime = 1_000_003

/** Returns the only event. Its payload repeats the version, so that a dead letter names it. */
export function creditEvents(topic: string): EventCatalog<CreditSchemas> {
  return defineEvents({ Credited: { topic, schema: credited, key: ({ account }) => account } })
}

const next = (before: number | undefined, amount: number): number => ((before ?? 0) * 3 + amount) % prime

/** Returns the projection of a revision: the second one has a column more. */
export function creditProjection(topic: string, revision: number): Projection<CreditSchemas, { total: number }> {
  const events = creditEvents(topic)
  const name = 'credit_total'
  if (revision === 1)
    return defineProjection({ name, events, state: totalOfFirst, columns: { total: 'integer' } }).on({
      Credited: (state, { payload }) => ({ total: next(state?.total, payload.amount) }),
    })
  const columns = { credits: 'integer', total: 'integer' } as const
  return defineProjection({ name, revision, events, state: total, columns }).on({
    Credited: (state, { payload }) => ({
      total: next(state?.total, payload.amount),
      credits: (state?.credits ?? 0) + 1,
    }),
  }) as unknown as Projection<CreditSchemas, { total: number }>
}

/** Returns the amount of an event. */
function amountOf(account: string, version: number): number {
  return ((account.charCodeAt(account.length - 1) + version * 7) % 9) + 1
}

/** Returns an event as a publisher writes it. */
export async function creditRecord(topic: string, account: string, version: number): Promise<OutRecord> {
  const events = creditEvents(topic)
  const payload = { account, amount: amountOf(account, version), version }
  const { headers, ...record } = events.wireFormat.encode(
    await encodeEvent(events, 'Credited', payload, { aggregateVersion: version }),
  )
  return { topic, ...record, headers: [...RecordHeaders.from(headers)] }
}

/** Totals by account and version, computed without any of our code: each depends on the order of all events before it. */
export class CreditTotals {
  readonly #totals = new Map<string, number[]>()

  at(account: string, version: number): number {
    const totals = this.#totals.get(account) ?? [0]
    this.#totals.set(account, totals)
    while (totals.length <= version) totals.push(((totals.at(-1) ?? 0) * 3 + amountOf(account, totals.length)) % prime)
    return totals[version] ?? 0
  }
}
