/** What the topics and groups of a binding are called, as the specification has it: the engine has no part in it. */

import type { BindingPlan } from './binding-plan.ts'
import { sourceTopic } from './program.ts'

/** What a topic is to the group that commits its offsets. */
export interface Place {
  readonly kind: 'SOURCE' | 'TIER' | 'WAITING' | 'DLT'
  readonly binding: BindingPlan
  readonly topic: string
  /** Who commits its offsets; nobody those of dead letters. */
  readonly groupId: string
  /** 0 except on tiers. */
  readonly tier: number
}

/** True for bindings with a waiting topic. */
export function isKeyed({ options }: BindingPlan): boolean {
  return options.orderingMode === 'KEY'
}

/** All topics of a binding, its source first. */
export function placesOf(binding: BindingPlan): readonly Place[] {
  const { groupId, options } = binding
  const prefix = options.retryTopicNaming === 'PER_GROUP' ? `${sourceTopic}.${groupId}` : sourceTopic
  const source: Place = { kind: 'SOURCE', binding, topic: sourceTopic, groupId, tier: 0 }
  const dlt: Place = { kind: 'DLT', binding, topic: `${prefix}.DLT`, groupId: '', tier: 0 }
  if (isKeyed(binding))
    return [source, { kind: 'WAITING', binding, topic: `${sourceTopic}.${groupId}.waiting`, groupId, tier: 0 }, dlt]
  const tiers = (options.retry?.tiers ?? []).map(
    (_, at): Place => ({
      kind: 'TIER',
      binding,
      topic: `${prefix}.retry-${at + 1}`,
      groupId: `${groupId}-retry-${at + 1}`,
      tier: at + 1,
    }),
  )
  return [source, ...tiers, dlt]
}
