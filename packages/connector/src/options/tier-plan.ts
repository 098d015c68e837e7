/** Resolves the tiers of a binding: the configured ones, or the defaults if they apply. */

import type { ResolvedTier } from '../binding/resolved-binding.ts'
import { type BindingValues, defaultTier, defaultTierDelaysMs, type TierValues } from './binding-rules.ts'
import { hasTiersByDefault } from './legal-combinations.ts'
import { tierGroupId, tierTopic, waitingTopic } from './topic-names.ts'

/** Returns the tiers. With `orderingMode: KEY` they share the waiting topic, which the binding's own group reads. */
export function planTiers(binding: BindingValues): readonly ResolvedTier[] {
  const { groupId, orderingMode } = binding
  const isKeyed = orderingMode === 'KEY'
  return effectiveTiers(binding).map(({ delayMs, maxAttempts, concurrency, topicSuffix }, at) => {
    const tier = at + 1
    return Object.freeze({
      tier,
      topic: isKeyed ? waitingTopic(binding) : tierTopic(binding, tier, topicSuffix),
      groupId: isKeyed ? groupId : tierGroupId(groupId, tier),
      // Already checked: only the first three may omit it.
      delayMs: delayMs ?? defaultTierDelaysMs[at] ?? 0,
      maxAttempts,
      concurrency,
    })
  })
}

/** Returns the configured tiers, which are rejected elsewhere if illegal, or the defaults. */
function effectiveTiers({ retry, failureProfile, orderingMode }: BindingValues): readonly TierValues[] {
  if (retry.tiers !== undefined) return retry.tiers
  if (!hasTiersByDefault({ failureProfile, orderingMode })) return []
  return defaultTierDelaysMs.map((delayMs) => ({ ...defaultTier, delayMs, topicSuffix: undefined }))
}
