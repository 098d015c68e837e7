/** The containers of a binding and their members: what they are called and where they read. */

import type { ContainerPlace } from '../api/container-place.ts'
import type { ResolvedBinding } from '../binding/resolved-binding.ts'
import { isOneTopic } from './topic-selection.ts'

/**
 * One container for the source, and one for each tier (S0-052, S0-062), for one topic of the binding. With `orderingMode: KEY` the source's container
 * reads the waiting topic too, so there is no other. Nobody reads the dead letters (S0-063).
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

/** `eventbus-{binding}` for the source, `eventbus-{binding}-retry-{n}` for tier n. */
function containerName(binding: ResolvedBinding, tier: number): string {
  return tier === 0 ? `eventbus-${partName(binding)}` : `eventbus-${partName(binding)}-retry-${tier}`
}

/** A binding that selects several topics has members for each, in one group: they need names of their own. */
function partName({ name, topic, selection }: Pick<ResolvedBinding, 'name' | 'topic' | 'selection'>): string {
  return isOneTopic(selection) ? name : `${name}-${topic}`
}

/** The id of a static member (S0-055, S0-156); undefined where membership is not static. `index` is that of the member. */
export function staticMemberId(
  binding: Pick<ResolvedBinding, 'name' | 'topic' | 'selection' | 'staticMembership' | 'instanceId'>,
  host: string,
  index: number,
): string | undefined {
  const { staticMembership, instanceId } = binding
  return staticMembership ? `${partName(binding)}-${instanceId ?? host}-${index}` : undefined
}

/**
 * What to warn about when a static member is called after this host; undefined when nothing is wrong. A host that has
 * another name after each restart leaves a dead member behind each time, and its partitions stand still for a session.
 */
export function hostWarning(
  { staticMembership, instanceId }: Pick<ResolvedBinding, 'staticMembership' | 'instanceId'>,
  host: string,
): string | undefined {
  if (!staticMembership || instanceId !== undefined || !isGenerated(host)) return undefined
  return (
    `the host is called ${host}, which looks like a name that changes with each restart: static membership then makes ` +
    'a restart slower in place of faster; set instanceId to a name that stays, or run it as a StatefulSet'
  )
}

/** The letters Kubernetes makes names of: no vowels and nothing that is easily mistaken. */
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
