/** Which topics of a cluster an expression means. Pure. */

import { deadLetterSuffix, tierSuffix } from '@waybill/kafka/internal'
import type { ResolvedBinding } from '../binding/resolved-binding.ts'
import { mostTiers } from '../options/binding-rules.ts'
import { derivedNamesOf } from './derived-topics.ts'

/** What connectors of any group make: `orders.retry-1`, `orders.billing.DLT`, `orders.billing.waiting`. */
const usualSuffixes: readonly string[] = [
  deadLetterSuffix,
  'waiting',
  ...Array.from({ length: mostTiers }, (_, at) => tierSuffix(at + 1)),
].map((suffix) => `.${suffix}`)

/**
 * The topics whose name matches, in their order, without Kafka's own and without what is called like a topic that
 * connectors derive: `/^orders\./` means `orders.eu`, and not `orders.eu.DLT`. Also not where the topic it came from is
 * gone: what failed once must not be handled as if it were new.
 */
export function matchTopics(binding: ResolvedBinding, pattern: RegExp, existing: readonly string[]): readonly string[] {
  const derived = ownNames(binding)
  return existing
    .filter((name) => !name.startsWith('__') && pattern.test(name))
    .filter((name) => !derived.names.has(name) && !derived.suffixes.some((suffix) => name.endsWith(suffix)))
    .toSorted()
}

interface DerivedNames {
  /** Those that do not depend on the topic. */
  readonly names: ReadonlySet<string>
  readonly suffixes: readonly string[]
}

/** Seen by what the binding makes of a topic: it may have suffixes of its own. */
function ownNames(binding: ResolvedBinding): DerivedNames {
  const probe = 'any-topic'
  const own = derivedNamesOf(binding.forTopic(probe))
  const isMade = (name: string): boolean => name.startsWith(`${probe}.`)
  return {
    names: new Set(own.filter((name) => !isMade(name))),
    suffixes: [...usualSuffixes, ...own.filter(isMade).map((name) => name.slice(probe.length))],
  }
}
