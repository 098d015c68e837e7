import type { Schemas } from '../../event/catalog.ts'
import { resolveOptions } from '../../option/resolve-options.ts'
import { createSoleClaims } from '../claim/sole-claims.ts'
import type { Outbox } from '../create-outbox.ts'
import type { PoolOptions } from '../option/outbox-options.ts'
import { checkRetry, poolRules, retryOf } from '../option/outbox-rules.ts'
import { createRelayOutbox } from './relay-mode.ts'

const mode = 'Outbox.singleNode'

/** Hot path and polling without claims: one process works on the table (S1-125). */
export function singleNode<S extends Schemas, Tx>(options: PoolOptions<S, Tx>): Outbox<S, Tx> {
  const resolved = resolveOptions(mode, poolRules, options, checkRetry)
  return createRelayOutbox(mode, { ...resolved, owner: 'node', retry: retryOf(resolved) }, (parts) =>
    createSoleClaims({ ...resolved, ...parts, mode }),
  )
}
