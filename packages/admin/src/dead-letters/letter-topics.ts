/** The dead letter topics of the bindings of this process, with the offsets they hold. */

import type { StoredDeadLetter } from '@waybill/connector'
import type { LogRange } from '@waybill/core/internal'

/** A binding whose dead letters are indexed. */
export interface IndexedBinding {
  /** The name in permissions and answers. */
  readonly key: string
  /** `{cluster}:{name}`. */
  readonly label: string
  readonly cluster: string
  readonly groupId: string
  readonly topics: readonly string[]
}

/** A dead letter topic, which several bindings may share. */
export interface LetterTopic {
  readonly cluster: string
  readonly topic: string
  readonly bindings: readonly IndexedBinding[]
  /** The offsets that its partitions hold. */
  readonly ranges: readonly LogRange[]
}

/** Merges the ranges of bindings to topics. */
export function topicsOf(
  found: readonly { readonly binding: IndexedBinding; readonly ranges: readonly LogRange[] }[],
): readonly LetterTopic[] {
  const topics = new Map<string, LetterTopic>()
  for (const { binding, ranges } of found)
    for (const [topic, all] of Map.groupBy(ranges, (range) => range.topic)) {
      const id = JSON.stringify([binding.cluster, topic])
      const known = topics.get(id)
      const bindings = [...(known?.bindings ?? []), binding]
      topics.set(id, { cluster: binding.cluster, topic, bindings, ranges: known?.ranges ?? all })
    }
  return [...topics.values()]
}

/** Returns the key of the binding that a dead letter belongs to; undefined if it is none of this process. */
export function bindingOf({ consumerGroup, record }: StoredDeadLetter, { bindings }: LetterTopic): string | undefined {
  const { originalTopic } = record
  const reads = ({ topics }: IndexedBinding): boolean => originalTopic === '' || topics.includes(originalTopic)
  const found =
    consumerGroup === undefined
      ? bindings.filter(reads)
      : bindings.filter((one) => one.groupId === consumerGroup && reads(one))
  // A dead letter without a group belongs to the only binding that could have written it.
  return found.length === 1 ? found[0]?.key : undefined
}

/** Returns the group that reads a topic for the index, the same in every instance. */
export function indexGroupOf({ topic, bindings }: LetterTopic): string {
  const [first = topic] = bindings.map(({ groupId }) => groupId).toSorted()
  return `${first}-dlt-index`
}
