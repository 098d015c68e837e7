/** What bindings of one connector may not share (C-71). Pure: reports, decides nothing. */

import type { ResolvedBinding } from '../binding/resolved-binding.ts'

/** Takes a violation of one binding, by its name. */
export type ReportClash = (binding: string, option: string, problem: string) => void

/** Reports each binding that takes what one before it has, on the same cluster. */
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
        `${groupId} reads ${topic} for ${first} already: each would get some of the partitions only; ` +
          'use another groupId, or raise concurrency',
      )
  }
}

interface DerivedName {
  readonly binding: ResolvedBinding
  readonly topic: string
  /** A dead letter topic with a name of its own is shared on purpose. */
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
  // One for each two bindings, however many topics they share.
  const pairs = Map.groupBy(shared, ({ first, derived }) => JSON.stringify([first.name, derived.binding.name]))
  for (const [one, ...others] of pairs.values()) {
    if (one === undefined) continue
    const { first, derived } = one
    const topics = [one, ...others].map((other) => other.derived.topic).join(', ')
    report(
      derived.binding.name,
      'retryTopicNaming',
      `derives ${topics} for the group ${derived.binding.groupId}, which ${first.name} has for ${first.groupId}: ` +
        'each would find the failures of the other; set PER_GROUP, which puts the group into the name, or give each a ' +
        'dlt.topic of its own',
    )
  }
}

/** The same place twice is told already, and the topics of one binding may share what they like. */
function isClash(first: DerivedName, { binding, mayBeShared }: DerivedName): boolean {
  if (mayBeShared && first.mayBeShared) return false
  return first.binding.name !== binding.name && !isSamePlace(first.binding, binding)
}

/** A binding may read dead letters, which nobody else reads; what waits in a tier is not for anybody else. */
function findReadTopics(bindings: readonly ResolvedBinding[], report: ReportClash): void {
  const ownerByTopic = new Map(
    bindings.flatMap((binding) => [...movedTopicsOf(binding)].map((topic) => [topic, binding.name] as const)),
  )
  for (const { name, topic } of bindings) {
    const owner = ownerByTopic.get(topic)
    if (owner !== undefined) report(name, 'topic', `${topic} is where records of ${owner} wait for their retry`)
  }
}

function derivedNamesOf(binding: ResolvedBinding): DerivedName[] {
  const { deadLetter } = binding
  return [
    ...[...movedTopicsOf(binding)].map((topic) => ({ binding, topic, mayBeShared: false })),
    // Whatever begins like the source is taken for derived: to share it by mistake is worse than to be asked.
    { binding, topic: deadLetter.topic, mayBeShared: !deadLetter.topic.startsWith(`${binding.topic}.`) },
  ]
}

/** Tiers, or the waiting topic that stands for all of them. */
function movedTopicsOf({ tiers, waitingTopic }: ResolvedBinding): ReadonlySet<string> {
  return new Set([...tiers.map(({ topic }) => topic), ...(waitingTopic === undefined ? [] : [waitingTopic])])
}

function isSamePlace(one: ResolvedBinding, other: ResolvedBinding): boolean {
  return one.topic === other.topic && one.groupId === other.groupId
}
