import type { Schemas } from '@waybill/core'
import { resolveOptions } from '@waybill/core/option'
import { createSoleClaims } from '../claim/sole-claims.ts'
import type { PoolOptions } from '../options/outbox-options.ts'
import { checkRetry, poolRules, retryOf } from '../options/outbox-rules.ts'
import type { Outbox } from './assemble-outbox.ts'
import { createRelayOutbox } from './relay-mode.ts'

const mode = 'Outbox.singleNode'

/** Creates an outbox with hot path and unclaimed polling: one process uses the table. */
export function singleNode<S extends Schemas, Tx>(options: PoolOptions<S, Tx>): Outbox<S, Tx> {
  const resolved = resolveOptions(mode, poolRules, options, checkRetry)
  return createRelayOutbox(mode, { ...resolved, owner: 'node', retry: retryOf(resolved) }, (parts) =>
    createSoleClaims({ ...resolved, ...parts, mode }),
  )
}
