import type { KafkaClient } from '@waybill/kafka'
import { requireAllDone } from '@waybill/kafka'
import type { GroupDescription } from '@waybill/kafka/internal'
import { AdminNotFoundError } from '../problem/admin-errors.ts'
import type { Call } from '../route/call.ts'
import { type Route, route } from '../route/route.ts'
import { list, mapOf, object } from '../schema/composite-schemas.ts'
import { about, named, nullable, optional, type Schema } from '../schema/schema.ts'
import { int64, integer, oneOf, openWord, text } from '../schema/value-schemas.ts'
import type { AdminServices } from '../service/admin-services.ts'
import { words } from './answer-schemas.ts'
import { boundGroups, boundRoles, boundTopics, describeBound } from './cluster-topics.ts'

const tag = 'Topics and groups'

const topicSchema: Schema = named(
  'Topic',
  object({
    cluster: words,
    topic: words,
    uses: list(object({ binding: words, role: openWord(boundRoles) })),
    replication: integer(),
    underReplicated: integer(),
    partitions: list(
      object({
        partition: integer(),
        leader: nullable(integer()),
        replicas: integer(),
        inSync: integer(),
        start: nullable(int64),
        end: nullable(int64),
      }),
    ),
    settings: mapOf(nullable(words)),
    remarks: list(words),
    trouble: nullable(words),
  }),
)

const groupFields = {
  cluster: words,
  groupId: words,
  /** The binding whose group it is; null for a group of another program on the same topics. */
  binding: nullable(words),
  state: words,
  type: words,
  members: nullable(integer()),
} as const

const groupSchema: Schema = named('Group', object(groupFields))

const groupDetailSchema: Schema = named(
  'GroupDetail',
  object({
    ...groupFields,
    assignor: words,
    memberList: nullable(
      list(
        object({
          memberId: words,
          instanceId: nullable(words),
          clientId: words,
          host: words,
          assignment: nullable(list(object({ topic: words, partition: integer() }))),
        }),
      ),
    ),
    partitions: list(
      object({
        topic: words,
        partition: integer(),
        committed: nullable(int64),
        end: int64,
        lag: nullable(int64),
      }),
    ),
  }),
)

/** Groups of other programs that are described to find those on our topics. */
const maxOthers = 200

/** Routes of topics and consumer groups. */
export function clusterRoutes(services: AdminServices): readonly Route[] {
  const { options } = services
  return [
    route({
      id: 'listTopics',
      method: 'GET',
      path: '/eventbus/topics',
      tag,
      summary: 'Lists the topics of bindings with their partitions, and settings that endanger records',
      access: { permission: 'topics:read', of: 'ALL' },
      query: { role: optional(oneOf(boundRoles)) },
      answer: object({ items: list(topicSchema), next: nullable(words) }),
      async run(call) {
        const { role } = call.query
        const topics = (await boundTopics(services, call)).filter(
          // A dead letter topic of another program has no binding here.
          ({ uses }) =>
            role === undefined || (uses.length === 0 ? role === 'DLT' : uses.some((use) => use.role === role)),
        )
        const items: object[] = []
        for (const [cluster, client] of Object.entries(options.clusters)) {
          const here = topics.filter((one) => one.cluster === cluster)
          if (here.length > 0) items.push(...(await describeBound(client, here)))
        }
        return { body: { items, next: null } }
      },
    }),
    route({
      id: 'listGroups',
      method: 'GET',
      path: '/eventbus/groups',
      tag,
      summary: 'Lists the consumer groups of bindings, and other groups that read their topics',
      access: { permission: 'groups:read', of: 'ALL' },
      answer: object({ items: list(groupSchema), next: nullable(words) }),
      async run(call) {
        const items: object[] = []
        for (const [cluster, client] of Object.entries(options.clusters))
          items.push(...(await groupsOf(services, call, cluster, client)))
        return { body: { items, next: null } }
      },
    }),
    route({
      id: 'getGroup',
      method: 'GET',
      path: '/eventbus/groups/{groupId}',
      tag,
      summary: 'Shows a consumer group with its members and its lag',
      access: { permission: 'groups:read', of: 'ALL' },
      query: { cluster: optional(about('Required where several clusters have the group.', text({ max: 200 }))) },
      answer: groupDetailSchema,
      async run(call) {
        const { groupId = '' } = call.params
        const wanted = Object.entries(options.clusters).filter(([name]) => (call.query.cluster ?? name) === name)
        for (const [cluster, client] of wanted) {
          const listed = (await client.admin.listGroups()).find((one) => one.groupId === groupId)
          if (listed !== undefined) return { body: await groupDetail(services, call, { cluster, client, groupId }) }
        }
        throw new AdminNotFoundError('There is no such group.')
      },
    }),
  ]
}

async function groupsOf(
  services: AdminServices,
  call: Call,
  cluster: string,
  { admin }: KafkaClient,
): Promise<readonly object[]> {
  const ours = new Map(
    boundGroups(services, call)
      .filter((one) => one.cluster === cluster)
      .map(({ groupId, binding }) => [groupId, binding]),
  )
  const topics = new Set(
    (await boundTopics(services, call)).filter((one) => one.cluster === cluster).map(({ topic }) => topic),
  )
  const listed = await admin.listGroups()
  const known = listed.filter(({ groupId }) => ours.has(groupId))
  const others = listed.filter(({ groupId }) => !ours.has(groupId)).slice(0, maxOthers)
  const described = await admin.describeGroups([...known, ...others].map(({ groupId }) => groupId))
  return described.flatMap((group) => {
    if (group.outcome !== 'DONE') return []
    const binding = ours.get(group.groupId) ?? null
    return binding === null && !readsOneOf(group, topics) ? [] : [groupView(cluster, group.groupId, binding, group)]
  })
}

function readsOneOf({ members }: GroupDescription, topics: ReadonlySet<string>): boolean {
  return (members ?? []).some(({ assignment }) => (assignment ?? []).some(({ topic }) => topics.has(topic)))
}

function groupView(cluster: string, groupId: string, binding: string | null, group: GroupDescription): object {
  const { groupState, groupType, members } = group
  return { cluster, groupId, binding, state: groupState, type: groupType, members: members?.length ?? null }
}

async function groupDetail(
  services: AdminServices,
  call: Call,
  { cluster, client, groupId }: { readonly cluster: string; readonly client: KafkaClient; readonly groupId: string },
): Promise<object> {
  const { admin } = client
  const [group] = requireAllDone('Describing the group', await admin.describeGroups([groupId]))
  if (group === undefined) throw new AdminNotFoundError('There is no such group.')
  const binding = boundGroups(services, call).find((one) => one.cluster === cluster && one.groupId === groupId)
  const offsets = await admin.groupOffsets(groupId)
  return {
    ...groupView(cluster, groupId, binding?.binding ?? null, group),
    assignor: group.protocol,
    memberList:
      group.members?.map(({ memberId, instanceId, clientId, host, assignment }) => ({
        memberId,
        instanceId,
        clientId,
        host,
        assignment: assignment?.map(({ topic, partition }) => ({ topic, partition })) ?? null,
      })) ?? null,
    partitions: offsets.flatMap((one) =>
      one.outcome === 'DONE'
        ? [
            {
              topic: one.topic,
              partition: one.partition,
              committed: one.committed,
              end: one.end,
              // Negative after the topic was created again: nothing of it is read.
              lag: one.lag === null ? null : one.lag < 0n ? one.end : one.lag,
            },
          ]
        : [],
    ),
  }
}
