import type { Schemas } from '@waybill/core'
import { resolveOptions } from '@waybill/core/option'
import { createSoleClaims } from '../claim/sole-claims.ts'
import type { PoolOptions } from '../options/outbox-options.ts'
import { checkRetry, poolRules, retryOf } from '../options/outbox-rules.ts'
import type { Outbox } from './assemble-outbox.ts'
import { createRelayOutbox } from './relay-mode.ts'

const mode = 'Outbox.singleNode'

/** Hot path and polling without claims: one process works on the table (S1-125). */
export function singleNode<S extends Schemas, Tx>(options: PoolOptions<S, Tx>): Outbox<S, Tx> {
  const resolved = resolveOptions(mode, poolRules, options, checkRetry)
  return createRelayOutbox(mode, { ...resolved, owner: 'node', retry: retryOf(resolved) }, (parts) =>
    createSoleClaims({ ...resolved, ...parts, mode }),
  )
}
