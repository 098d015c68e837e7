/** Finds conflicts between the bindings of one connector. Pure. */

import type { ResolvedBinding } from '../binding/resolved-binding.ts'

/** Reports a violation of one binding. */
export type ReportClash = (binding: string, option: string, problem: string) => void

/** Reports each binding that conflicts with an earlier one on the same cluster. */
export function findClashes(bindings: readonly ResolvedBinding[], report: ReportClash): void {
  for (const cluster of new Set(bindings.map((binding) => binding.cluster))) {
    const together = bindings.filter((binding) => binding.cluster === cluster)
    findTwins(together, report)
    findSharedTopics(together, report)
    findReadTopics(together, report)
  }
}

function findTwins(bindings: readonly ResolvedBinding[], report: ReportClash): void {
  const firstByPlace = new Map<string, string>()
  for (const { name, topic, groupId } of bindings) {
    const place = JSON.stringify([topic, groupId])
    const first = firstByPlace.get(place)
    if (first === undefined) firstByPlace.set(place, name)
    else
      report(
        name,
        'groupId',
        `${groupId} already reads ${topic} for ${first}: each would receive only some of the partitions; ` +
          'use another groupId, or raise concurrency',
      )
  }
}

interface DerivedName {
  readonly binding: ResolvedBinding
  readonly topic: string
  /** True for a dead letter topic with an explicit name, which is shared on purpose. */
  readonly mayBeShared: boolean
}

function findSharedTopics(bindings: readonly ResolvedBinding[], report: ReportClash): void {
  const firstByTopic = new Map<string, DerivedName>()
  const shared: { readonly first: ResolvedBinding; readonly derived: DerivedName }[] = []
  for (const derived of bindings.flatMap(derivedNamesOf)) {
    const first = firstByTopic.get(derived.topic)
    if (first === undefined) firstByTopic.set(derived.topic, derived)
    else if (isClash(first, derived)) shared.push({ first: first.binding, derived })
  }
  // One violation per pair of bindings, however many topics they share.
  const pairs = Map.groupBy(shared, ({ first, derived }) => JSON.stringify([first.name, derived.binding.name]))
  for (const [one, ...others] of pairs.values()) {
    if (one === undefined) continue
    const { first, derived } = one
    const topics = [one, ...others].map((other) => other.derived.topic).join(', ')
    report(
      derived.binding.name,
      'retryTopicNaming',
      `derives ${topics} for the group ${derived.binding.groupId}, as ${first.name} does for ${first.groupId}: ` +
        'each would read the failures of the other; set PER_GROUP, which adds the group to the name, or set ' +
        'different dlt.topic names',
    )
  }
}

/** Returns whether two derived names conflict. Bindings with the same topic and group are reported elsewhere. */
function isClash(first: DerivedName, { binding, mayBeShared }: DerivedName): boolean {
  if (mayBeShared && first.mayBeShared) return false
  return first.binding.name !== binding.name && !isSamePlace(first.binding, binding)
}

/** Reports bindings that read the tiers or the waiting topic of another. Reading dead letters is allowed. */
function findReadTopics(bindings: readonly ResolvedBinding[], report: ReportClash): void {
  const ownerByTopic = new Map(
    bindings.flatMap((binding) => [...movedTopicsOf(binding)].map((topic) => [topic, binding.name] as const)),
  )
  for (const { name, topic } of bindings) {
    const owner = ownerByTopic.get(topic)
    if (owner !== undefined) report(name, 'topic', `${topic} contains records of ${owner} that wait for their retry`)
  }
}

function derivedNamesOf(binding: ResolvedBinding): DerivedName[] {
  const { deadLetter } = binding
  return [
    ...[...movedTopicsOf(binding)].map((topic) => ({ binding, topic, mayBeShared: false })),
    // A name that starts with the source topic counts as derived: sharing it by mistake is worse than an error.
    { binding, topic: deadLetter.topic, mayBeShared: !deadLetter.topic.startsWith(`${binding.topic}.`) },
  ]
}

/** Returns the topics of the tiers and the waiting topic. */
function movedTopicsOf({ tiers, waitingTopic }: ResolvedBinding): ReadonlySet<string> {
  return new Set([...tiers.map(({ topic }) => topic), ...(waitingTopic === undefined ? [] : [waitingTopic])])
}

function isSamePlace(one: ResolvedBinding, other: ResolvedBinding): boolean {
  return one.topic === other.topic && one.groupId === other.groupId
}
