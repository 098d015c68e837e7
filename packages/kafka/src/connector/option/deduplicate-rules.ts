/** How a binding may tell repeats (S0-202, C-17, C-78). */

import type { IdempotencyStore, Inbox } from '@waybill/core/idempotency'
import { hasMethods, instance, nested, optional, type Report, type Rule } from '@waybill/core/option'
import type { DeduplicationKey } from '../binding.ts'
import { isBulkHandler } from '../handler/bulk-handler.ts'
import { preparerOf } from '../handler/handle-events.ts'
import { plainFunction } from './plain-function.ts'
import type { ResolvedBinding, ResolvedDeduplicate } from './resolved-binding.ts'

const deduplicateRules: { readonly [K in keyof ResolvedDeduplicate]-?: Rule<ResolvedDeduplicate[K]> } = {
  store: optional(instance<IdempotencyStore>('an IdempotencyStore', (value) => hasMethods(value, 'seen', 'mark'))),
  inbox: optional(instance<Inbox<unknown>>('an Inbox', (value) => hasMethods(value, 'run'))),
  key: optional(plainFunction<DeduplicationKey>()),
}

/** The option. */
export const deduplicateRule: Rule<ResolvedDeduplicate | undefined> = {
  ...optional(nested(deduplicateRules)),
  expects: 'an object with a store or an inbox',
}

/** What holds without them, in words. */
export const deduplicateDefaults: Readonly<Record<string, string>> = {
  deduplicate: 'none: a handler must bear repeats',
  'deduplicate.store': 'none; required without an inbox',
  'deduplicate.inbox': 'none; required without a store',
  'deduplicate.key': 'the id of an event; else the natural key, with cluster and time of the record',
}

/** Reports what does not go together. */
export function checkDeduplicate(
  { deduplicate, handler }: Pick<ResolvedBinding, 'deduplicate' | 'handler'>,
  report: Report,
): void {
  if (deduplicate === undefined) return
  const { store, inbox } = deduplicate
  if (store === undefined && inbox === undefined)
    report('deduplicate', 'needs a store, with marks beside the effect, or an inbox, with marks in its transaction')
  if (store !== undefined && inbox !== undefined)
    report(
      'deduplicate',
      'has a store and an inbox: the inbox alone lets a record have one effect, so leave the store out',
    )
  if (preparerOf(handler)?.inbox !== undefined)
    report(
      'deduplicate',
      'stands beside the inbox that handleEvents was given: a record would be marked twice; give one of them',
    )
  if (inbox !== undefined && isBulkHandler(handler))
    report(
      'deduplicate.inbox',
      'does not go with a handler that takes many records: when one fails, its transaction undoes those before it too, ' +
        'which count as handled; use a store, or a handler of one record',
    )
}
