import { hasEngineHeaders } from '../records/trail.ts'
import type { DeliveryDeps } from './delivery-deps.ts'
import type { Ready } from './stage-values.ts'
import type { Work } from './work.ts'

/** The one result for records of other groups. */
export const foreignReady: Ready = Object.freeze({ kind: 'FOREIGN' })

/**
 * Decodes a record for its handler. Asks the filter first and leaves the bytes of poison as they are. Never throws or
 * rejects because of the record.
 */
export function decode(work: Work, { invocation }: Pick<DeliveryDeps, 'invocation'>): Ready | Promise<Ready> {
  if (work.condemned !== undefined) return { kind: 'CONDEMNED', failure: work.condemned }
  const { outputs } = work
  if (outputs?.refusal !== undefined)
    return { kind: 'OUTPUTS_REFUSED', error: outputs.refusal, attempts: outputs.calls }
  return isForeign(work) ? foreignReady : invocation(work.record, work.kind, work.groupId)
}

/** Returns true for a retry or replay that is meant for another group. On a source, its headers are only a claim. */
export function isForeign(work: Work): boolean {
  return hasEngineHeaders(work.record) && work.trail.isForeign && !work.isForged
}
