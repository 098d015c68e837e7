/** Selects the topics of a cluster that match an expression. Pure. */

import { deadLetterSuffix, tierSuffix } from '@waybill/kafka/internal'
import type { ResolvedBinding } from '../binding/resolved-binding.ts'
import { mostTiers } from '../options/binding-rules.ts'
import { compileTopicPattern } from '../options/topic-pattern.ts'
import { derivedNamesOf } from './derived-topics.ts'

/** Suffixes of derived topics of any group: `orders.retry-1`, `orders.billing.DLT`, `orders.billing.waiting`. */
const usualSuffixes: readonly string[] = [
  deadLetterSuffix,
  'waiting',
  ...Array.from({ length: mostTiers }, (_, at) => tierSuffix(at + 1)),
].map((suffix) => `.${suffix}`)

/**
 * Returns the matching topics, sorted, without internal topics of Kafka and without names of derived topics:
 * `/^orders\./` selects `orders.eu` but not `orders.eu.DLT`. This holds even if the source topic no longer exists,
 * since failed records must not be handled as new ones.
 */
export function matchTopics(binding: ResolvedBinding, pattern: RegExp, existing: readonly string[]): readonly string[] {
  const derived = ownNames(binding)
  const expression = compileTopicPattern(pattern)
  return existing
    .filter((name) => !name.startsWith('__') && expression.test(name))
    .filter((name) => !derived.names.has(name) && !derived.suffixes.some((suffix) => name.endsWith(suffix)))
    .toSorted()
}

interface DerivedNames {
  /** Names that do not depend on the topic. */
  readonly names: ReadonlySet<string>
  readonly suffixes: readonly string[]
}

/** Derives the binding's own names and suffixes from a probe topic. */
function ownNames(binding: ResolvedBinding): DerivedNames {
  const probe = 'any-topic'
  const own = derivedNamesOf(binding.forTopic(probe))
  const isMade = (name: string): boolean => name.startsWith(`${probe}.`)
  return {
    names: new Set(own.filter((name) => !isMade(name))),
    suffixes: [...usualSuffixes, ...own.filter(isMade).map((name) => name.slice(probe.length))],
  }
}
