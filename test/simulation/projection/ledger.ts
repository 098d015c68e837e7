/** A log of several partitions, and the rows that its events end with. */

import { encodeEvent } from '@waybill/core'
import type { KafkaRecord } from '@waybill/kafka'
import type { Draw } from '../draw.ts'
import { credits, type Total, totalAfter } from './history.ts'

/** An event before it is written. */
interface Planned {
  readonly account: string
  readonly version: number
  readonly amount: number
  readonly partition: number
}

/** How the events of a run are spread. */
export interface LedgerPlan {
  readonly versions: 'AGGREGATE' | 'POSITION'
  /** Events in the order in which they are written. Some come late: behind later ones of their account. */
  readonly events: readonly Planned[]
  readonly partitions: number
  /** The totals of each account by version. */
  readonly totals: ReadonlyMap<string, readonly Total[]>
  readonly hasLateEvents: boolean
  readonly hasSharedKeys: boolean
}

/** Draws events. With versions, some of them are repeated by their producer, and some come late. */
export function drawPlan(draw: Draw): LedgerPlan {
  const versions = draw.chance(0.6) ? 'AGGREGATE' : 'POSITION'
  const partitions = draw.integer(1, 3)
  const accounts = Array.from({ length: draw.integer(1, 5) }, (_, index) => `k${index}`)
  const hasSharedKeys = draw.chance(versions === 'POSITION' ? 0.5 : 0.15)
  const lateShare = versions === 'AGGREGATE' && draw.chance(0.5) ? 0.03 : 0
  const totals = new Map<string, Total[]>()
  const events: Planned[] = []
  const late: Planned[] = []
  for (let count = draw.integer(80, 160); count > 0; count--) {
    const account = draw.pick(accounts)
    const known = totals.get(account) ?? []
    const amount = draw.integer(1, 9)
    const partition = hasSharedKeys ? draw.integer(0, partitions - 1) : accounts.indexOf(account) % partitions
    const event = { account, version: known.length + 1, amount, partition }
    // In several partitions events have no order, so the total must not depend on it.
    totals.set(account, [...known, totalAfter(known.at(-1), amount, hasSharedKeys)])
    if (draw.chance(lateShare)) late.push(event)
    else events.push(event)
    const [first] = late
    if (first !== undefined && draw.chance(0.1)) events.push(...late.splice(0, 1))
    if (versions === 'AGGREGATE' && draw.chance(0.08)) events.push(draw.pick(events.length > 0 ? events : [event]))
  }
  return { versions, events: [...events, ...late], partitions, totals, hasLateEvents: lateShare > 0, hasSharedKeys }
}

/** The partitions of a topic in memory. Offsets may be left out, as by markers of transactions. */
export class LedgerLog {
  readonly partitions: { readonly records: KafkaRecord[]; end: number }[]
  readonly #versions: LedgerPlan['versions']

  constructor({ partitions, versions }: LedgerPlan) {
    this.partitions = Array.from({ length: partitions }, () => ({ records: [], end: 0 }))
    this.#versions = versions
  }

  /** Writes an event, behind so many offsets without one. */
  async append({ account, version, amount, partition }: Planned, markers: number): Promise<void> {
    const meta = {
      eventId: `${account}-${version}`,
      occurredAt: 0,
      ...(this.#versions === 'AGGREGATE' ? { aggregateVersion: version } : {}),
    }
    const record = credits.wireFormat.encode(await encodeEvent(credits, 'Credited', { account, amount }, meta))
    const log = this.partitions[partition]
    if (log === undefined) throw new RangeError(`There is no partition ${partition}`)
    const offset = log.end + markers
    log.records.push({ topic: 'credits', partition, offset: BigInt(offset), timestamp: 0, epoch: 1, ...record })
    log.end = offset + 1
  }

  /** Returns records from an offset on, below another one. */
  read(partition: number, from: number, until: number, most: number): readonly KafkaRecord[] {
    const records = this.partitions[partition]?.records ?? []
    return records.filter(({ offset }) => offset >= from && offset < until).slice(0, most)
  }
}
