/** The rules of the `deduplicate` option. */

import type { IdempotencyStore, Inbox } from '@waybill/core'
import { hasMethods, instance, nested, optional, type Report, type Rule } from '@waybill/core/option'
import type { DeduplicationKey } from '../api/binding.ts'
import { isBatchHandler } from '../api/is-batch-handler.ts'
import type { ResolvedBinding, ResolvedDeduplicate } from '../binding/resolved-binding.ts'
import { preparerOf } from '../handlers/handle-events.ts'
import { plainFunction } from './plain-function.ts'

const isStore = (value: unknown): boolean => hasMethods(value, 'seen', 'mark')
const isInbox = (value: unknown): boolean => hasMethods(value, 'run')

const ownKey = plainFunction<DeduplicationKey>()

const deduplicateRules: { readonly [K in keyof ResolvedDeduplicate]-?: Rule<ResolvedDeduplicate[K]> } = {
  store: optional(instance<IdempotencyStore>('an IdempotencyStore', isStore)),
  inbox: optional(instance<Inbox<unknown>>('an Inbox', isInbox)),
  key: optional({
    ...ownKey,
    expects: `EVENT_ID, or ${ownKey.expects}`,
    accepts: (value) => value === 'EVENT_ID' || ownKey.accepts(value),
  }),
}

const asObject = nested(deduplicateRules)

/** Returns the problem with a store or an inbox that is not wrapped in an object. */
function bareKind(value: unknown): string | undefined {
  if (isInbox(value)) return 'is an Inbox; write { inbox: … }'
  return isStore(value) ? 'is an IdempotencyStore; write { store: … }' : undefined
}

/** The rule of `deduplicate`. */
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

/** Descriptions of the defaults, by path. */
export const deduplicateDefaults: Readonly<Record<string, string>> = {
  deduplicate: 'none: the handler must tolerate duplicates',
  'deduplicate.store': 'none; required without an inbox',
  'deduplicate.inbox': 'none; required without a store',
  'deduplicate.key':
    'the original topic and the event id; else the natural key with cluster and timestamp of the record',
}

/** Reports violated relations. */
export function checkDeduplicate(
  { deduplicate, handler }: Pick<ResolvedBinding, 'deduplicate' | 'handler'>,
  report: Report,
): void {
  if (deduplicate === undefined) return
  const { store, inbox } = deduplicate
  if (store === undefined && inbox === undefined)
    report(
      'deduplicate',
      'needs a store, which writes marks after the effect, or an inbox, which writes them in its transaction',
    )
  if (store !== undefined && inbox !== undefined)
    report('deduplicate', 'has a store and an inbox: the inbox alone makes the effect happen once, so remove the store')
  if (preparerOf(handler)?.inbox !== undefined)
    report(
      'deduplicate',
      'conflicts with the inbox of handleEvents: a record would be marked twice; remove one of them',
    )
  if (inbox !== undefined && isBatchHandler(handler))
    report(
      'deduplicate.inbox',
      'does not go with a handler that has handleBatch: if a record fails, the rollback also undoes those before it, ' +
        'which count as handled; use a store, or a handler of single records',
    )
}
