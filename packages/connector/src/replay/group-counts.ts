import { createLabelLimit } from '@waybill/core/internal'
import type { DeadLettersOfGroup } from '../api/dead-letter-admin.ts'

/**
 * Counts dead letters by the group that wrote them. The names come from headers, so at most 50 different ones are kept;
 * further ones count as `other`.
 */
export class GroupCounts {
  readonly #nameOf = createLabelLimit()
  readonly #counts = new Map<string | undefined, number>()

  /** @param consumerGroup - undefined for a dead letter without one: another program wrote it, or a person */
  add(consumerGroup: string | undefined): void {
    const name = consumerGroup === undefined ? undefined : this.#nameOf(consumerGroup)
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1)
  }

  list(): readonly DeadLettersOfGroup[] {
    return [...this.#counts].map(([consumerGroup, count]) => ({ consumerGroup, count }))
  }
}

/** Adds up the counts of several topics. */
export function addGroupCounts(
  left: readonly DeadLettersOfGroup[],
  right: readonly DeadLettersOfGroup[],
): readonly DeadLettersOfGroup[] {
  const sum = new Map(left.map(({ consumerGroup, count }) => [consumerGroup, count]))
  for (const { consumerGroup, count } of right) sum.set(consumerGroup, (sum.get(consumerGroup) ?? 0) + count)
  return Array.from(sum, ([consumerGroup, count]) => ({ consumerGroup, count }))
}
