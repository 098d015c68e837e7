/** The preparation of a handler call, which happens before the first attempt. */

import { StateError } from '@waybill/core'
import type { RecordContext } from './delivery-context.ts'

/**
 * The result of preparing a record.
 * - RUN: a handler to call. It may be called again after a failure, and each call receives an unmodified event.
 *   `eventId` is set for catalog events. The call rejects with {@link duplicateFound} if the record is a duplicate.
 * - UNHANDLED: an event of the catalog without a handler in the binding.
 * - FILTERED: the binding's filter rejects the record.
 * - DUPLICATE: the record was handled before.
 * - POISON: the record is not a valid event of the catalog, and a retry cannot change that.
 */
export type Prepared =
  | PreparedRun
  | { readonly kind: 'UNHANDLED' }
  | { readonly kind: 'FILTERED' }
  | { readonly kind: 'DUPLICATE' }
  | { readonly kind: 'POISON'; readonly error: Error }

/** A prepared handler call. */
export interface PreparedRun {
  readonly kind: 'RUN'
  readonly eventId?: string | undefined
  run(context: RecordContext<unknown>): Promise<void> | void
}

/** Returns a run that fails with an error of the preparation, as if the handler had thrown it. */
export function failedRun(error: unknown): PreparedRun {
  return {
    kind: 'RUN',
    run() {
      throw error
    },
  }
}

/**
 * The rejection of a call that finds a duplicate. It is not a failure: the record is settled as skipped, and the
 * circuit breaker ignores it.
 */
export const duplicateFound: Error = Object.freeze(new StateError('The record was handled before.'))

/**
 * The rejection of a call whose handler did not start, because its partition was paused or revoked while the call was
 * prepared. It is not a failure either: the record stays where it is.
 */
export const notStarted: Error = Object.freeze(new StateError('The partition is paused or revoked.'))
