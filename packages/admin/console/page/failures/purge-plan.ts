import type { Schemas } from '../../api/api-types.ts'

/** The counts of a purge. */
export interface PurgePlan {
  readonly eligible: bigint
  readonly notReplayed: bigint
  readonly byGroup: readonly { readonly group: string | null; readonly count: number }[]
  readonly topics: readonly string[]
}

/** Reads the plan of a purge. Pure. */
export function purgePlanOf({ plan }: Pick<Schemas['Operation'], 'plan'>): PurgePlan {
  const { eligible, notReplayed, byGroup, ranges } = plan
  return {
    eligible: bigOf(eligible),
    notReplayed: bigOf(notReplayed),
    byGroup: listOf(byGroup).map(({ consumerGroup, count }) => ({
      group: typeof consumerGroup === 'string' ? consumerGroup : null,
      count: Number(count),
    })),
    topics: [...new Set(listOf(ranges).flatMap(({ topic }) => (typeof topic === 'string' ? [topic] : [])))],
  }
}

function bigOf(value: unknown): bigint {
  return typeof value === 'string' && /^\d+$/.test(value) ? BigInt(value) : 0n
}

function listOf(value: unknown): readonly Readonly<Record<string, unknown>>[] {
  return Array.isArray(value) ? value : []
}
