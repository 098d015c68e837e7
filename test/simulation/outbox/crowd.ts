/**
 * Makes rare coincidences likely: keys that share a shard, and outcomes that are late while leases are lost. From a
 * stream of its own, and only for the modes with shards.
 */

import { createSeededRandom } from '@waybill/core/internal'
import { shardOf } from '@waybill/outbox/internal'
import type { SqlFaultProfile } from '@waybill/sim/internal'
import { Draw } from '../draw.ts'
import type { CallPlan, EventPlan, TransactionPlan } from './event-plan.ts'
import type { Mode } from './mode.ts'

interface Crowded {
  readonly mode: Mode
  readonly isCalm: boolean
  readonly options: { readonly leaseMs: number }
  readonly transactions: readonly TransactionPlan[]
  readonly faults: SqlFaultProfile | false
}

/** Separates these draws from those of the rest of the program. */
const crowdStream = 0x3c6ef372

/** Returns the parts of a program that change: none in most seeds. */
export function crowd(seed: number, plan: Crowded): Pick<Crowded, 'transactions' | 'faults'> {
  const { mode, isCalm, transactions, faults } = plan
  const draw = new Draw(createSeededRandom(seed ^ crowdStream))
  if (mode !== 'keyed' && mode !== 'leasing') return { transactions, faults }
  const sharesShard = draw.chance(0.3)
  const losesLeases = !isCalm && draw.chance(0.1)
  const crowded = sharesShard ? withKeysOf(transactions, keysOfShard(draw.integer(0, 63))) : transactions
  if (!losesLeases) return { transactions: crowded, faults }
  return { transactions: withLongCalls(crowded, draw, plan.options.leaseMs), faults: drawLeaseFaults(draw, plan) }
}

/** Generates keys of one shard. */
function* keysOfShard(shard: number): Generator<string, never> {
  for (let number = 0; ; number++) {
    const key = `crowd-${number}`
    if (shardOf({ eventId: '', aggregateType: '__GLOBAL__', aggregateId: key }) === shard) yield key
  }
}

function withKeysOf(transactions: readonly TransactionPlan[], names: Generator<string, never>): TransactionPlan[] {
  const renamed = new Map<string, string>()
  const nameOf = (key: string | null): string | null => {
    if (key === null) return null
    const name = renamed.get(key) ?? names.next().value
    renamed.set(key, name)
    return name
  }
  return withEvents(transactions, (event) => ({ ...event, key: nameOf(event.key) }))
}

/** Listeners that are still at work when a lease is lost. */
function withLongCalls(transactions: readonly TransactionPlan[], draw: Draw, leaseMs: number): TransactionPlan[] {
  return withEvents(transactions, (event) => {
    const call: CallPlan = { kind: 'DEAF', takesMs: draw.ms(leaseMs / 4, leaseMs * 1.5) }
    return draw.chance(0.2) ? { ...event, calls: [call, ...event.calls] } : event
  })
}

/** Outcomes are late, and so are renewals or their answers: a node loses leases that the database still has. */
function drawLeaseFaults(draw: Draw, { options }: Crowded): SqlFaultProfile {
  return {
    rates: {
      markDone: { delay: draw.between(0.2, 0.6), refused: draw.pick([0, 0.3]) },
      renewShards: { delay: draw.between(0.2, 0.6), lostAnswer: draw.pick([0, 0.5]) },
    },
    maxDelayMs: 3 * options.leaseMs,
  }
}

function withEvents(
  transactions: readonly TransactionPlan[],
  change: (event: EventPlan) => EventPlan,
): TransactionPlan[] {
  return transactions.map((transaction) => ({ ...transaction, events: transaction.events.map(change) }))
}
