/** Names of the topics and groups of a binding, as specified: the engine has no part in it. */

import type { BindingPlan } from './binding-plan.ts'

/** The role of a topic for the group that commits its offsets. */
export interface Place {
  readonly kind: 'SOURCE' | 'TIER' | 'WAITING' | 'DLT'
  readonly binding: BindingPlan
  readonly topic: string
  /** The group that commits its offsets; dead letters have none. */
  readonly groupId: string
  /** The source itself, or the source it derives from. */
  readonly source: string
  /** 0 except on tiers. */
  readonly tier: number
}

/** Returns true for bindings with a waiting topic. */
export function isKeyed({ options }: BindingPlan): boolean {
  return options.orderingMode === 'KEY'
}

/**
 * Returns all topics of a binding, each source before its derived topics. The plan never changes, so they are computed
 * once.
 */
export function placesOf(binding: BindingPlan): readonly Place[] {
  const known = placesByBinding.get(binding)
  if (known !== undefined) return known
  const places = binding.topics.flatMap((source) => placesFrom(source, binding))
  placesByBinding.set(binding, places)
  return places
}

/** Returns the name of a source's waiting topic. */
export function waitingTopicOf(source: string, { groupId }: Pick<BindingPlan, 'groupId'>): string {
  return `${source}.${groupId}.waiting`
}

const placesByBinding = new WeakMap<BindingPlan, readonly Place[]>()

function placesFrom(source: string, binding: BindingPlan): readonly Place[] {
  const { groupId, options } = binding
  const prefix = options.retryTopicNaming === 'PER_GROUP' ? `${source}.${groupId}` : source
  const place = (kind: Place['kind'], topic: string, committer: string, tier = 0): Place => ({
    kind,
    binding,
    topic,
    groupId: committer,
    source,
    tier,
  })
  const first = place('SOURCE', source, groupId)
  const dlt = place('DLT', `${prefix}.DLT`, '')
  if (isKeyed(binding)) return [first, place('WAITING', waitingTopicOf(source, binding), groupId), dlt]
  const tiers = (options.retry?.tiers ?? []).map((_, at) =>
    place('TIER', `${prefix}.retry-${at + 1}`, `${groupId}-retry-${at + 1}`, at + 1),
  )
  return [first, ...tiers, dlt]
}
