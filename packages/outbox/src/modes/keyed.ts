import type { Schemas } from '@waybill/core'
import { resolveOptions } from '@waybill/core/option'
import { createDelivery } from '../dispatch/listener-call.ts'
import { KeyedEngine } from '../keyed/keyed-engine.ts'
import { balancedAssignment, type ShardAssignment } from '../keyed/shard-plan.ts'
import {
  checkKeyedOptions,
  type KeyedOptions,
  keyedRules,
  type ResolvedKeyedOptions,
} from '../options/keyed-options.ts'
import { retryOf } from '../options/outbox-rules.ts'
import type { Outbox } from './assemble-outbox.ts'
import { createDeliveringOutbox } from './delivering-outbox.ts'

const mode = 'Outbox.keyed'

/**
 * Delivers the events of each key (aggregate type and id) in the order of the table, different keys side by side, on any
 * number of nodes (C-80). An event that fails is tried again and holds back its own key alone.
 *
 * Order is that of the sequence numbers, which the database gives at the insert. Transactions that write events of one
 * aggregate have to lock it first (or fail on its version), as they mostly do anyway: otherwise the one that inserted
 * later may commit earlier, and its event is delivered first.
 */
export function keyed<S extends Schemas, Tx>(options: KeyedOptions<S, Tx>): Outbox<S, Tx> {
  const resolved = resolveOptions(mode, keyedRules, options, checkKeyedOptions)
  const rotation = (): number => Math.floor(resolved.runtime.random() * 1_000)
  return createKeyedOutbox(mode, resolved, { assignment: balancedAssignment(rotation), showsPresence: true })
}

/** A keyed outbox, whoever decides which shards are whose. */
export function createKeyedOutbox<S extends Schemas, Tx>(
  called: string,
  options: ResolvedKeyedOptions,
  sharing: { readonly assignment: ShardAssignment; readonly showsPresence: boolean },
): Outbox<S, Tx> {
  const { owner, timeoutMs } = options.claimLocking
  const settings = { ...options, owner, retry: retryOf(options) }
  return createDeliveringOutbox(called, settings, (parts) => {
    return new KeyedEngine({
      ...settings,
      ...parts,
      ...sharing,
      name: settings.metricsPrefix,
      deliver: createDelivery(settings),
      timeoutMs,
    })
  })
}
