import type { Schemas } from '@waybill/core'
import { resolveOptions } from '@waybill/core/option'
import { fixedAssignment } from '../keyed/shard-plan.ts'
import { adaptiveRetry } from '../options/adaptive-retry.ts'
import { checkLeasingOptions, type LeasingOptions, leasingRules } from '../options/leasing-options.ts'
import type { Outbox } from './assemble-outbox.ts'
import { createKeyedOutbox } from './keyed.ts'

const mode = 'Outbox.leasing'

/**
 * Creates a publisher on the keyed engine with a fixed assignment: partitions belong to instances by remainder,
 * adaptive retries, and a breaker that protects an unavailable broker. An ADR describes how row leases map to partition
 * leases.
 */
export function leasing<S extends Schemas, Tx>(options: LeasingOptions<S, Tx>): Outbox<S, Tx> {
  const { instanceCount, instanceId, maxInFlight, maxAttempts, retry, ...resolved } = resolveOptions(
    mode,
    leasingRules,
    options,
    checkLeasingOptions,
  )
  const settings = {
    ...resolved,
    workerCount: maxInFlight,
    maxAttempts: undefined,
    retry: retry ?? adaptiveRetry(maxAttempts === undefined ? {} : { maxAttempts }),
  }
  return createKeyedOutbox(mode, settings, {
    assignment: fixedAssignment(instanceCount, instanceId),
    showsPresence: false,
  })
}
