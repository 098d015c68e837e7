import type { BindingView } from '@waybill/connector'
import type { ContainerPlace } from '@waybill/connector/internal'
import { type KafkaClient, requireAllDone } from '@waybill/kafka'

/** A partition of a binding, as its cluster knows it: also one that another instance reads. */
export interface FleetPartition {
  readonly kind: string
  readonly tier: number
  readonly topic: string
  readonly partition: number
  /** Null: the group has committed nothing. */
  readonly committed: bigint | null
  readonly end: bigint
  readonly lag: bigint | null
  /** The member that reads it. Null: none does. */
  readonly owner: { readonly clientId: string; readonly instanceId: string | null; readonly host: string } | null
}

type Place = Pick<ContainerPlace, 'kind' | 'tier' | 'topic' | 'groupId'>

/** Reads the partitions of a binding in all instances from its cluster. */
export async function fleetPartitions({ admin }: KafkaClient, view: BindingView): Promise<readonly FleetPartition[]> {
  const places = placesOf(view)
  const byGroup = Map.groupBy(places, ({ groupId }) => groupId)
  const found = await Promise.all(
    Array.from(byGroup, async ([groupId, here]) => {
      const topics = here.map(({ topic }) => topic)
      const described = requireAllDone('Describing the topics', await admin.describeTopics(topics))
      const partitions = described.flatMap(({ topic, partitions: all }) =>
        all.map(({ partition }) => ({ topic, partition })),
      )
      const [offsets, [group]] = await Promise.all([
        admin.groupOffsets(groupId, partitions),
        admin.describeGroups([groupId]),
      ])
      const members = group?.outcome === 'DONE' ? (group.members ?? []) : []
      return offsets.flatMap((one): FleetPartition[] => {
        const place = here.find(({ topic }) => topic === one.topic)
        if (one.outcome !== 'DONE' || place === undefined) return []
        const { topic, partition, committed, end, lag } = one
        const owner = members.find(({ assignment }) =>
          assignment?.some((given) => given.topic === topic && given.partition === partition),
        )
        const shown =
          owner === undefined
            ? null
            : { clientId: owner.clientId, instanceId: owner.instanceId ?? null, host: owner.host }
        // Negative after the topic was created again: nothing of it is read. Without a commit an empty partition has no lag.
        const left = lag === null ? (end === 0n ? 0n : null) : lag < 0n ? end : lag
        return [{ kind: place.kind, tier: place.tier, topic, partition, committed, end, lag: left, owner: shown }]
      })
    }),
  )
  return found.flat()
}

/** Tiers are known while the binding runs here. */
function placesOf({ containers, topics, groupId }: BindingView): readonly Place[] {
  if (containers.length > 0) return containers.map(({ place }) => place)
  return topics.map((topic) => ({ kind: 'SOURCE', tier: 0, topic, groupId }))
}
