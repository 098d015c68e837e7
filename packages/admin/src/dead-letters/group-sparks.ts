import type { DeadLetterFilter, DeadLetterIndex } from '@waybill/core/internal'

/** The dead letters of a failure group by hour, the present one last. */
export interface GroupSpark {
  readonly sinceMs: number
  readonly bucketMs: number
  readonly counts: readonly number[]
}

const hourMs = 3_600_000
const hours = 24

/** Returns the sparks of failure groups; undefined if the index does not know hours. */
export async function sparksOf(
  index: Pick<DeadLetterIndex, 'groupHours'>,
  { binding, bindings }: Pick<DeadLetterFilter, 'binding' | 'bindings'>,
  groups: readonly string[],
  nowMs: number,
): Promise<((group: string) => GroupSpark) | undefined> {
  const from = Math.floor(nowMs / hourMs) - hours + 1
  const found = await index.groupHours?.({ bindings: binding === undefined ? bindings : [binding] }, groups, from)
  if (found === undefined) return undefined
  const byGroup = Map.groupBy(found, ({ group }) => group)
  return (group) => {
    const counts = Array.from({ length: hours }, () => 0)
    // A clock of another process may be ahead.
    for (const { hour, count } of byGroup.get(group) ?? []) if (hour < from + hours) counts[hour - from] = Number(count)
    return { sinceMs: from * hourMs, bucketMs: hourMs, counts }
  }
}
