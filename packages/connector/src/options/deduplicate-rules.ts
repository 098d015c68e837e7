/** How a binding may tell repeats (S0-202, C-17, C-78). */

import type { IdempotencyStore, Inbox } from '@waybill/core'
import { hasMethods, instance, nested, optional, type Report, type Rule } from '@waybill/core/option'
import type { DeduplicationKey } from '../api/binding.ts'
import { isBatchHandler } from '../api/is-batch-handler.ts'
import type { ResolvedBinding, ResolvedDeduplicate } from '../binding/resolved-binding.ts'
import { preparerOf } from '../handlers/handle-events.ts'
import { plainFunction } from './plain-function.ts'

const isStore = (value: unknown): boolean => hasMethods(value, 'seen', 'mark')
const isInbox = (value: unknown): boolean => hasMethods(value, 'run')

const deduplicateRules: { readonly [K in keyof ResolvedDeduplicate]-?: Rule<ResolvedDeduplicate[K]> } = {
  store: optional(instance<IdempotencyStore>('an IdempotencyStore', isStore)),
  inbox: optional(instance<Inbox<unknown>>('an Inbox', isInbox)),
  key: optional(plainFunction<DeduplicationKey>()),
}

const asObject = nested(deduplicateRules)

/** What is said of a store or an inbox that was given as it is. */
function bareKind(value: unknown): string | undefined {
  if (isInbox(value)) return 'is an Inbox; write { inbox: … }'
  return isStore(value) ? 'is an IdempotencyStore; write { store: … }' : undefined
}

/** The option. */
export const deduplicateRule: Rule<ResolvedDeduplicate | undefined> = {
  ...optional(asObject),
  expects: 'an object with a store or an inbox',
  accepts: (value) => bareKind(value) !== undefined || asObject.accepts(value),
  inside(value, path, report) {
    const bare = bareKind(value)
    if (bare === undefined) return asObject.inside?.(value, path, report)
    report(path, bare)
    return undefined
  },
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
  if (inbox !== undefined && isBatchHandler(handler))
    report(
      'deduplicate.inbox',
      'does not go with a handler that takes many records: when one fails, its transaction undoes those before it too, ' +
        'which count as handled; use a store, or a handler of one record',
    )
}
