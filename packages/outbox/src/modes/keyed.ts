import type { Schemas } from '@waybill/core'
import { resolveOptions } from '@waybill/core/option'
import { createDestinations } from '../destination/destination-report.ts'
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
 * Creates an outbox that delivers the events of each key (aggregate type and id) in table order, different keys
 * concurrently, on any number of nodes. A failed event is retried and blocks only its own key.
 *
 * The order is that of the sequence numbers, which the database assigns at the insert. Transactions that write events
 * of one aggregate must lock it first, or fail on its version, as most do anyway. Otherwise the one that inserted later
 * may commit earlier, and its event is delivered first.
 */
export function keyed<S extends Schemas, Tx>(options: KeyedOptions<S, Tx>): Outbox<S, Tx> {
  const resolved = resolveOptions(mode, keyedRules, options, checkKeyedOptions)
  const rotation = (): number => Math.floor(resolved.runtime.random() * 1_000)
  return createKeyedOutbox(mode, resolved, { assignment: balancedAssignment(rotation), showsPresence: true })
}

/** Creates a keyed outbox with the given assignment of shards. */
export function createKeyedOutbox<S extends Schemas, Tx>(
  called: string,
  options: ResolvedKeyedOptions,
  sharing: { readonly assignment: ShardAssignment; readonly showsPresence: boolean },
): Outbox<S, Tx> {
  const { owner, timeoutMs } = options.claimLocking
  const settings = { ...options, owner, retry: retryOf(options) }
  const destinations = createDestinations(settings.metricsPrefix, settings.listeners, settings.runtime)
  return createDeliveringOutbox(called, settings, (parts) => {
    return new KeyedEngine({
      ...settings,
      ...parts,
      ...sharing,
      name: settings.metricsPrefix,
      destinations,
      deliver: createDelivery({ ...settings, destinations }),
      timeoutMs,
    })
  })
}
