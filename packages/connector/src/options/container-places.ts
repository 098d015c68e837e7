/** The names and topics of a binding's containers, and the ids of their static members. */

import type { ContainerPlace } from '../api/container-place.ts'
import type { ResolvedBinding } from '../binding/resolved-binding.ts'
import { isOneTopic } from './topic-selection.ts'

/**
 * Returns the containers for one topic of the binding: one for the source and one for each tier. With
 * `orderingMode: KEY` the source's container also reads the waiting topic. Dead letters have no container.
 */
export function containerPlacesOf(binding: ResolvedBinding): readonly ContainerPlace[] {
  const { topic, groupId, concurrency, tiers, waitingTopic } = binding
  const source: ContainerPlace = {
    name: containerName(binding, 0),
    topic,
    groupId,
    kind: 'SOURCE',
    tier: 0,
    delayMs: 0,
    concurrency,
  }
  if (waitingTopic !== undefined) return [source]
  return [source, ...tiers.map((tier) => ({ ...placeOf(tier), name: containerName(binding, tier.tier) }))]
}

/** Returns `eventbus-{binding}` for the source, `eventbus-{binding}-retry-{n}` for tier n. */
function containerName(binding: ResolvedBinding, tier: number): string {
  return tier === 0 ? `eventbus-${partName(binding)}` : `eventbus-${partName(binding)}-retry-${tier}`
}

/** Returns a name with the topic if the binding selects several: each has its own members in the same group. */
function partName({ name, topic, selection }: Pick<ResolvedBinding, 'name' | 'topic' | 'selection'>): string {
  return isOneTopic(selection) ? name : `${name}-${topic}`
}

/** Returns the id of a static member; undefined if membership is not static. `index` is that of the member. */
export function staticMemberId(
  binding: Pick<ResolvedBinding, 'name' | 'topic' | 'selection' | 'staticMembership' | 'instanceId'>,
  host: string,
  index: number,
): string | undefined {
  const { staticMembership, instanceId } = binding
  return staticMembership ? `${partName(binding)}-${instanceId ?? host}-${index}` : undefined
}

/**
 * Returns a warning if static member ids depend on a host name that looks generated. If the name changes with each
 * restart, the old member stays in the group, and its partitions are stalled until its session times out.
 */
export function hostWarning(
  { staticMembership, instanceId }: Pick<ResolvedBinding, 'staticMembership' | 'instanceId'>,
  host: string,
): string | undefined {
  if (!staticMembership || instanceId !== undefined || !isGenerated(host)) return undefined
  return (
    `the host name ${host} looks generated: if it changes with each restart, static membership makes restarts slower ` +
    'instead of faster; set instanceId to a stable name, or run it as a StatefulSet'
  )
}

/** The alphabet of generated Kubernetes names: no vowels and no ambiguous characters. */
const kubernetesPod = /-[bcdfghjklmnpqrstvwxz2456789]{6,10}-[bcdfghjklmnpqrstvwxz2456789]{5}$/
const dockerContainer = /^[0-9a-f]{12}$/

function isGenerated(host: string): boolean {
  return kubernetesPod.test(host) || dockerContainer.test(host)
}

function placeOf({
  topic,
  groupId,
  tier,
  delayMs,
  concurrency,
}: ResolvedBinding['tiers'][number]): Omit<ContainerPlace, 'name'> {
  return { topic, groupId, kind: 'TIER', tier, delayMs, concurrency }
}
