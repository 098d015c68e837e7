/** What a binding's handler has to do with a record, found out before any attempt is spent on it. */

import { StateError } from '@waybill/core'
import type { RecordContext } from './delivery-context.ts'

/**
 * - RUN: there is something to call. It may be called again after a failure, and each call gets the event as it came.
 *   `eventId` is that of an event of a catalog. It rejects with {@link duplicateFound} when it was called for a repeat.
 * - UNHANDLED: an event of the catalog that the binding has no handler for.
 * - FILTERED: the binding's filter does not take it.
 * - DUPLICATE: it had its effect before.
 * - POISON: the record is no event that the catalog knows, and the same bytes never will be (S2-041, S2-045). They are
 *   left as they are.
 */
export type Prepared =
  | PreparedRun
  | { readonly kind: 'UNHANDLED' }
  | { readonly kind: 'FILTERED' }
  | { readonly kind: 'DUPLICATE' }
  | { readonly kind: 'POISON'; readonly error: Error }

/** A call that is prepared. */
export interface PreparedRun {
  readonly kind: 'RUN'
  readonly eventId?: string | undefined
  run(context: RecordContext<unknown>): Promise<void> | void
}

/** Whatever was to be found out could not be: the record is then one whose handler failed, with this error. */
export function failedRun(error: unknown): PreparedRun {
  return {
    kind: 'RUN',
    run() {
      throw error
    },
  }
}

/**
 * What a call rejects with when it finds that the record had its effect before, and leaves it at that. No failure: the
 * record is settled as skipped, and the circuit breaker learns nothing of it.
 */
export const duplicateFound: Error = Object.freeze(new StateError('The record had its effect before.'))
