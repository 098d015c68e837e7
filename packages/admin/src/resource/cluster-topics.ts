import type { BindingView } from '@waybill/connector'
import { describeThrown } from '@waybill/core'
import type { KafkaClient } from '@waybill/kafka'
import type { Call } from '../route/call.ts'
import type { AdminServices } from '../service/admin-services.ts'
import { bindingKey, visibleBindings } from '../service/find-binding.ts'
import { labelOf } from './command-routes.ts'

/** The role of a topic for a binding. */
export type BoundRole = 'SOURCE' | 'TIER' | 'DLT'

export const boundRoles: readonly BoundRole[] = ['SOURCE', 'TIER', 'DLT']

/** A topic that bindings use. */
export interface BoundTopic {
  readonly cluster: string
  readonly topic: string
  readonly uses: readonly { readonly binding: string; readonly role: BoundRole }[]
}

/** Returns the topics of the bindings that an operator may see. Tiers are known while their binding runs. */
export async function boundTopics(
  { connector, letters }: AdminServices,
  call: Pick<Call, 'grants' | 'operator'>,
): Promise<readonly BoundTopic[]> {
  const found: { cluster: string; topic: string; use: BoundTopic['uses'][number] }[] = []
  for (const view of visibleBindings(connector, call.grants)) {
    const binding = bindingKey(view)
    const dead = (await connector?.admin.deadLetterRanges(labelOf({ view }), call.operator)) ?? []
    for (const topic of view.topics) found.push({ cluster: view.cluster, topic, use: { binding, role: 'SOURCE' } })
    for (const topic of tiersOf(view)) found.push({ cluster: view.cluster, topic, use: { binding, role: 'TIER' } })
    for (const topic of new Set(dead.map((one) => one.topic)))
      found.push({ cluster: view.cluster, topic, use: { binding, role: 'DLT' } })
  }
  const foreign = call.grants.allows('dlt:read', undefined) ? await letters.topics() : []
  const byTopic = Map.groupBy(found, ({ cluster, topic }) => JSON.stringify([cluster, topic]))
  const bound = [...byTopic.values()].flatMap(([first, ...others]) =>
    first === undefined
      ? []
      : [{ cluster: first.cluster, topic: first.topic, uses: [first, ...others].map(({ use }) => use) }],
  )
  const shown = foreign.filter(({ bindings }) => bindings.length === 0)
  return [...bound, ...shown.map(({ cluster, topic }) => ({ cluster, topic, uses: [] }))]
}

function tiersOf({ containers }: BindingView): readonly string[] {
  return [...new Set(containers.flatMap(({ place }) => (place.kind === 'TIER' ? [place.topic] : [])))]
}

/** Returns the groups of the bindings that an operator may see, by cluster. */
export function boundGroups(
  { connector }: AdminServices,
  { grants }: Pick<Call, 'grants'>,
): readonly {
  readonly cluster: string
  readonly groupId: string
  readonly binding: string
}[] {
  return visibleBindings(connector, grants).flatMap((view) => {
    const ids = new Set([view.groupId, ...view.containers.map(({ place }) => place.groupId)])
    return [...ids].map((groupId) => ({ cluster: view.cluster, groupId, binding: bindingKey(view) }))
  })
}

const shownSettings = [
  'cleanup.policy',
  'retention.ms',
  'retention.bytes',
  'min.insync.replicas',
  'max.message.bytes',
  'unclean.leader.election.enable',
] as const

/** Describes topics of one cluster. A topic that cannot be described says why. */
export async function describeBound(client: KafkaClient, topics: readonly BoundTopic[]): Promise<readonly object[]> {
  const { admin } = client
  const names = topics.map(({ topic }) => topic)
  const views = await admin.describeTopics(names)
  const configs = new Map((await admin.describeConfigs(names)).map((one) => [one.topic, one]))
  const partitions = views.flatMap((view) =>
    view.outcome === 'DONE' ? view.partitions.map(({ partition }) => ({ topic: view.topic, partition })) : [],
  )
  const [starts, ends] = await Promise.all([
    offsetsOf(admin, partitions, 'EARLIEST'),
    offsetsOf(admin, partitions, 'LATEST'),
  ])
  return topics.map(({ cluster, topic, uses }) => {
    const view = views.find((one) => one.topic === topic)
    if (view?.outcome !== 'DONE') {
      const trouble = view === undefined ? 'It was not described.' : describeThrown(view.error)
      return { ...emptyTopic, cluster, topic, uses, trouble }
    }
    const config = configs.get(topic)
    const settings = config?.outcome === 'DONE' ? config.configs : new Map<string, { readonly value: string | null }>()
    const rows = view.partitions.map(({ partition, leader, replicas, inSyncReplicas }) => ({
      partition,
      leader: leader?.nodeId ?? null,
      replicas: replicas.length,
      inSync: inSyncReplicas.length,
      start: starts.get(`${topic}-${partition}`) ?? null,
      end: ends.get(`${topic}-${partition}`) ?? null,
    }))
    return {
      cluster,
      topic,
      uses,
      replication: view.replication,
      underReplicated: rows.filter(({ replicas, inSync }) => inSync < replicas).length,
      partitions: rows,
      settings: Object.fromEntries(shownSettings.map((name) => [name, settings.get(name)?.value ?? null])),
      remarks: remarksOf(uses, view.replication, settings),
      trouble: null,
    }
  })
}

const emptyTopic = { replication: 0, underReplicated: 0, partitions: [], settings: {}, remarks: [] }

async function offsetsOf(
  admin: KafkaClient['admin'],
  partitions: readonly { readonly topic: string; readonly partition: number }[],
  at: 'EARLIEST' | 'LATEST',
): Promise<ReadonlyMap<string, bigint>> {
  const found = partitions.length === 0 ? [] : await admin.listOffsets(partitions, at)
  return new Map(
    found.flatMap((one) =>
      one.outcome === 'DONE' && one.offset !== null ? [[`${one.topic}-${one.partition}`, one.offset] as const] : [],
    ),
  )
}

/** Settings that endanger records. */
function remarksOf(
  uses: BoundTopic['uses'],
  replication: number,
  settings: ReadonlyMap<string, { readonly value: string | null }>,
): readonly string[] {
  const value = (name: string): string | null => settings.get(name)?.value ?? null
  const isDerived = uses.some(({ role }) => role !== 'SOURCE')
  const remarks: string[] = []
  if (replication === 1) remarks.push('replication 1: losing one broker loses its records')
  if (replication >= 3 && value('min.insync.replicas') === '1')
    remarks.push('min.insync.replicas 1: a record counts as written with one copy, which may be lost')
  if (value('unclean.leader.election.enable') === 'true')
    remarks.push('unclean.leader.election.enable: a replica that missed records may become leader')
  if (isDerived && value('cleanup.policy')?.includes('compact') === true)
    remarks.push('cleanup.policy compact: records that wait may be deleted')
  if (isDerived && value('retention.ms') !== '-1' && value('retention.ms') !== null)
    remarks.push('retention.ms is limited: records that wait longer are deleted')
  return remarks
}
