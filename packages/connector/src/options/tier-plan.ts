/** The tiers that a binding has in the end: those it describes, or the default ones where they apply. */

import type { ResolvedTier } from '../binding/resolved-binding.ts'
import { type BindingValues, defaultTier, defaultTierDelaysMs, type TierValues } from './binding-rules.ts'
import { hasTiersByDefault } from './legal-combinations.ts'
import { tierGroupId, tierTopic, waitingTopic } from './topic-names.ts'

/** With `orderingMode: KEY` every tier is a place in the waiting topic, which the binding's own group reads. */
export function planTiers(binding: BindingValues): readonly ResolvedTier[] {
  const { groupId, orderingMode } = binding
  const isKeyed = orderingMode === 'KEY'
  return effectiveTiers(binding).map(({ delayMs, maxAttempts, concurrency, topicSuffix }, at) => {
    const tier = at + 1
    return Object.freeze({
      tier,
      topic: isKeyed ? waitingTopic(binding) : tierTopic(binding, tier, topicSuffix),
      groupId: isKeyed ? groupId : tierGroupId(groupId, tier),
      // Checked before: only the first three may leave it out.
      delayMs: delayMs ?? defaultTierDelaysMs[at] ?? 0,
      maxAttempts,
      concurrency,
    })
  })
}

/** STRICT and the profiles without tiers have none unless somebody writes them down, which is then refused (C-15). */
function effectiveTiers({ retry, failureProfile, orderingMode }: BindingValues): readonly TierValues[] {
  if (retry.tiers !== undefined) return retry.tiers
  if (!hasTiersByDefault({ failureProfile, orderingMode })) return []
  return defaultTierDelaysMs.map((delayMs) => ({ ...defaultTier, delayMs, topicSuffix: undefined }))
}
