/** What a binding's handler has to do with a record, found out before any attempt is spent on it. */

import type { RecordContext } from './delivery-context.ts'

/**
 * - RUN: there is something to call. It may be called again after a failure, and each call gets the event as it came.
 * - UNHANDLED: an event of the catalog that the binding has no handler for.
 * - FILTERED: the binding's filter does not take it.
 * - POISON: the record is no event that the catalog knows, and the same bytes never will be (S2-041, S2-045). They are
 *   left as they are.
 */
export type Prepared =
  | { readonly kind: 'RUN'; run(context: RecordContext): Promise<void> | void }
  | { readonly kind: 'UNHANDLED' }
  | { readonly kind: 'FILTERED' }
  | { readonly kind: 'POISON'; readonly error: Error }
