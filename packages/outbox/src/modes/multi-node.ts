import type { Schemas } from '@waybill/core'
import { resolveOptions } from '@waybill/core/option'
import { createLeasedClaims } from '../claim/leased-claims.ts'
import type { ClaimOptions } from '../options/outbox-options.ts'
import { checkRetry, claimRules, retryOf } from '../options/outbox-rules.ts'
import type { Outbox } from './assemble-outbox.ts'
import { createRelayOutbox } from './relay-mode.ts'

const mode = 'Outbox.multiNode'

/** Creates an outbox with hot path and claimed polling: any number of processes share the table. */
export function multiNode<S extends Schemas, Tx>(options: ClaimOptions<S, Tx>): Outbox<S, Tx> {
  const resolved = resolveOptions(mode, claimRules, options, checkRetry)
  const { owner, timeoutMs } = resolved.claimLocking
  return createRelayOutbox(mode, { ...resolved, owner, retry: retryOf(resolved) }, (parts) =>
    createLeasedClaims({ ...resolved, ...parts, timeoutMs }),
  )
}
