import { defineEvents, encodeEvent } from '@waybill/core'
import type { Random } from '@waybill/core/internal'
import type { KafkaRecord } from '@waybill/kafka'
import { defineProjection } from '@waybill/projection'
import { z } from 'zod'

/** Keeps sums small. */
const prime = 1_000_003

/** The events of all runs. */
export const credits = defineEvents({
  Credited: {
    topic: 'credits',
    schema: z.object({ account: z.string(), amount: z.number().int() }),
    key: ({ account }) => account,
  },
})

const declared = {
  events: credits,
  state: z.object({ sum: z.number().int(), credits: z.number().int() }),
  columns: { sum: 'integer', credits: 'integer' },
} as const

/** The total of an account, and the number of its events. */
export interface Total {
  readonly sum: number
  readonly credits: number
}

/** Returns the total after another credit: one that depends on the order of the events, or one that does not. */
export function totalAfter(before: Total | undefined, amount: number, isCommutative: boolean): Total {
  const { sum, credits: known } = before ?? { sum: 0, credits: 0 }
  return { sum: isCommutative ? sum + amount : (sum * 3 + amount) % prime, credits: known + 1 }
}

/** Returns the projection under test. */
export function projectionOf(versions: 'AGGREGATE' | 'POSITION', isCommutative = false) {
  return defineProjection({ name: `credits_${versions.toLowerCase()}`, versions, ...declared }).on({
    Credited: (state, { payload }) => totalAfter(state, payload.amount, isCommutative),
  })
}

/** The projections under test, by how they recognize repeats. */
export const projections = { AGGREGATE: projectionOf('AGGREGATE'), POSITION: projectionOf('POSITION') } as const

/** Events in the order of their log, and the rows that they must end with. */
export interface History {
  readonly versions: keyof typeof projections
  readonly records: readonly KafkaRecord[]
  /** The row of each key, computed without any of our code. */
  readonly rows: ReadonlyMap<string, { readonly sum: number; readonly credits: number }>
  /** Keys of which an event is missing, and whether it is the first one. */
  readonly gaps: ReadonlyMap<string, 'FIRST' | 'LATER'>
}

/** Draws a history. With versions, an event of a key may be missing and the producer repeats some. */
export async function drawHistory(random: Random): Promise<History> {
  const draw = (bound: number): number => Math.floor(random() * bound)
  const versions = random() < 0.7 ? 'AGGREGATE' : 'POSITION'
  const keys = Array.from({ length: 1 + draw(4) }, (_, index) => `k${index}`)
  const planned: { readonly account: string; readonly version: number; readonly amount: number }[] = []
  const [rows, gaps, last] = [
    new Map<string, { sum: number; credits: number }>(),
    new Map<string, 'FIRST' | 'LATER'>(),
    new Map<string, number>(),
  ]
  for (let count = 320 + draw(80); count > 0; count--) {
    const account = keys[draw(keys.length)] ?? 'k0'
    const version = (last.get(account) ?? 0) + 1
    last.set(account, version)
    const event = { account, version, amount: 1 + draw(9) }
    const isAggregate = versions === 'AGGREGATE'
    if (isAggregate && !gaps.has(account) && random() < (version === 1 ? 0.04 : 0.004))
      gaps.set(account, version === 1 ? 'FIRST' : 'LATER')
    else {
      planned.push(event)
      if (!gaps.has(account)) {
        const { sum, credits: known } = rows.get(account) ?? { sum: 0, credits: 0 }
        rows.set(account, { sum: (sum * 3 + event.amount) % prime, credits: known + 1 })
      }
    }
    const earlier = planned[draw(planned.length)]
    if (isAggregate && earlier !== undefined && random() < 0.1) planned.push(earlier)
  }
  // Only a later event shows that one is missing.
  for (const [account] of gaps)
    if (!planned.some((one) => one.account === account && isBehindGap(one, rows))) gaps.delete(account)
  return { versions, records: await encoded(planned, versions), rows, gaps }
}

function isBehindGap(
  { account, version }: { readonly account: string; readonly version: number },
  rows: History['rows'],
): boolean {
  return version > (rows.get(account)?.credits ?? 0) + 1
}

function encoded(
  planned: readonly { readonly account: string; readonly version: number; readonly amount: number }[],
  versions: History['versions'],
): Promise<KafkaRecord[]> {
  return Promise.all(
    planned.map(async ({ account, version, amount }, offset) => {
      const meta = {
        eventId: `e-${offset}`,
        occurredAt: 0,
        ...(versions === 'AGGREGATE' ? { aggregateVersion: version } : {}),
      }
      const record = credits.wireFormat.encode(await encodeEvent(credits, 'Credited', { account, amount }, meta))
      return { topic: 'credits', partition: 0, offset: BigInt(offset), timestamp: 0, epoch: 1, ...record }
    }),
  )
}
