import type { Schemas } from '@waybill/core'
import { resolveOptions } from '@waybill/core/option'
import { createSoleClaims } from '../claim/sole-claims.ts'
import type { RelayOptions } from '../options/outbox-options.ts'
import { orderedRules, retryOf } from '../options/outbox-rules.ts'
import type { Outbox } from './assemble-outbox.ts'
import { createRelayOutbox } from './relay-mode.ts'

const mode = 'Outbox.ordered'

/**
 * Creates an outbox in which one process delivers one event after the other in table order, each once. A failed event
 * is DEAD and is replayed by hand; a listener that asks for more time blocks the events behind it. `Outbox.keyed` keeps
 * order per key with retries, on any number of nodes.
 */
export function ordered<S extends Schemas, Tx>(options: RelayOptions<S, Tx>): Outbox<S, Tx> {
  const resolved = resolveOptions(mode, orderedRules, options)
  const settings = {
    ...resolved,
    workerCount: 1,
    isInSequence: true,
    hotQueueCapacity: undefined,
    hook: undefined,
    retry: retryOf({ maxAttempts: 1, retry: undefined }),
    owner: 'node',
  }
  return createRelayOutbox(mode, settings, (parts) => createSoleClaims({ ...resolved, ...parts, mode }))
}
