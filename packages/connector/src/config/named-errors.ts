import type { ErrorMatcher } from '@waybill/core/internal'
import { isPlainObject } from '@waybill/core/option'
import type { ConfigCode } from '../api/config-code.ts'

type Data = Readonly<Record<string, unknown>>
type Errors = NonNullable<ConfigCode['errors']>

/** Replaces the names of errors by their classes and predicates. Other names stay unchanged. */
export function namedErrors(binding: Data, errors: Errors): Data {
  const retry = binding['retry']
  if (!isPlainObject(retry)) return binding
  const named = { ...retry }
  for (const option of ['retryableExceptions', 'nonRetryableExceptions']) {
    const list = named[option]
    if (Array.isArray(list)) named[option] = list.map((one: unknown) => matcherFor(one, errors))
  }
  const mapping = named['skipToTierMapping']
  if (isPlainObject(mapping) && areTiers(mapping) && Object.keys(mapping).some((name) => Object.hasOwn(errors, name)))
    named['skipToTierMapping'] = Object.entries(mapping).map(([name, tier]) => [matcherFor(name, errors), tier])
  return { ...binding, retry: named }
}

function matcherFor(one: unknown, errors: Errors): unknown {
  return typeof one === 'string' && Object.hasOwn(errors, one) ? (errors[one] satisfies ErrorMatcher | undefined) : one
}

/** Returns whether all values are tiers. If not, the mapping stays unchanged, and the rules report the violation. */
function areTiers(mapping: Data): boolean {
  return Object.values(mapping).every((tier) => Number.isSafeInteger(tier) && (tier as number) >= 1)
}
