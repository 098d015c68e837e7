/** What the topics and groups of a binding are called, as the specification has it: the engine has no part in it. */

import type { BindingPlan } from './binding-plan.ts'

/** What a topic is to the group that commits its offsets. */
export interface Place {
  readonly kind: 'SOURCE' | 'TIER' | 'WAITING' | 'DLT'
  readonly binding: BindingPlan
  readonly topic: string
  /** Who commits its offsets; nobody those of dead letters. */
  readonly groupId: string
  /** The source that it was made for, or is. */
  readonly source: string
  /** 0 except on tiers. */
  readonly tier: number
}

/** True for bindings with a waiting topic. */
export function isKeyed({ options }: BindingPlan): boolean {
  return options.orderingMode === 'KEY'
}

/** All topics of a binding, each source before what is made of it. Its plan never changes, so they are named once. */
export function placesOf(binding: BindingPlan): readonly Place[] {
  const known = placesByBinding.get(binding)
  if (known !== undefined) return known
  const places = binding.topics.flatMap((source) => placesFrom(source, binding))
  placesByBinding.set(binding, places)
  return places
}

/** What the waiting topic of a source is called. */
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
