import {
  applyTopology,
  type KafkaClient,
  planTopology,
  readTopology,
  type Topology,
  type TopologyPlan,
} from '@waybill/kafka'
import { AdminNotFoundError } from '../problem/admin-errors.ts'
import { type Route, route } from '../route/route.ts'
import { list, object } from '../schema/composite-schemas.ts'
import { about, named, nullable, optional, type Schema, withDefault } from '../schema/schema.ts'
import { boolean, integer, openWord, text } from '../schema/value-schemas.ts'
import type { AdminServices } from '../service/admin-services.ts'
import { words } from './answer-schemas.ts'

const tag = 'Topics and groups'

const stepSchema: Schema = object({
  kind: openWord(['CREATE', 'CONFIG_CHANGE', 'CONFIG_UNSAFE', 'DIFFERENT_PARTITIONS', 'REPLICATION_DIFFERS']),
  topic: words,
  config: nullable(words),
  from: nullable(words),
  to: nullable(words),
  problem: nullable(words),
})

const planSchema: Schema = named(
  'TopologyPlan',
  object({ cluster: words, steps: list(stepSchema), warnings: list(object({ topic: words, problem: words })) }),
)

const appliedSchema: Schema = named(
  'AppliedTopology',
  object({
    cluster: words,
    dryRun: optional(boolean),
    created: list(words),
    existed: list(words),
    changed: list(words),
    left: list(stepSchema),
    topics: optional(integer()),
  }),
)

/** Routes that compare the declared topics with a cluster, and create what is missing. */
export function topologyRoutes(services: AdminServices): readonly Route[] {
  const cluster = withDefault(text({ max: 200 }), 'default')
  return [
    route({
      id: 'planTopology',
      method: 'GET',
      path: '/eventbus/topics/plan',
      tag,
      summary: 'Compares the declared topics with a cluster',
      access: { permission: 'topics:read', of: 'ALL' },
      query: { cluster },
      answer: planSchema,
      async run(call) {
        const { client, topology } = declaredOn(services, call.query.cluster)
        const { steps, warnings } = await planned(client, topology)
        return {
          body: {
            cluster: call.query.cluster,
            steps: steps.map(stepView),
            warnings: warnings.map(({ topic, problem }) => ({ topic, problem })),
          },
        }
      },
    }),
    route({
      id: 'applyTopology',
      method: 'POST',
      path: '/eventbus/topics/apply',
      tag,
      summary: 'Creates declared topics that are missing. Never deletes, and never changes a number of partitions',
      access: { permission: 'topics:apply', of: 'ALL' },
      query: { cluster },
      body: {
        alterConfigs: withDefault(about('Changes the settings of topics that exist, too.', boolean), false),
      },
      change: { operation: 'APPLY_TOPOLOGY', isDestructive: false },
      answer: appliedSchema,
      async run(call) {
        const { cluster: name } = call.query
        const { client, topology } = declaredOn(services, name)
        const plan = await planned(client, topology)
        if (call.isDryRun) {
          const created = plan.steps.filter(({ kind }) => kind === 'CREATE').map(({ topic }) => topic)
          const left = plan.steps.filter(({ kind }) => kind !== 'CREATE').map(stepView)
          return { body: { cluster: name, dryRun: true, created, existed: [], changed: [], left } }
        }
        const { alterConfigs } = call.body
        const { created, existed, changed, left } = await services.audited.run(
          { operation: 'APPLY_TOPOLOGY', target: name, request: { alterConfigs }, operator: call.operator },
          () => applyTopology(client.admin, plan, { alterConfigs }),
          (applied) => ({ created: applied.created, changed: applied.changed }),
        )
        return { body: { cluster: name, created, existed, changed: [...new Set(changed)], left: left.map(stepView) } }
      },
    }),
  ]
}

/** @throws AdminNotFoundError */
function declaredOn(
  { options }: AdminServices,
  cluster: string,
): { readonly client: KafkaClient; readonly topology: Topology } {
  const client = Object.hasOwn(options.clusters, cluster) ? options.clusters[cluster] : undefined
  const topology = Object.hasOwn(options.topologies, cluster) ? options.topologies[cluster] : undefined
  if (client === undefined || topology === undefined)
    throw new AdminNotFoundError(
      'This server has no declared topics for the cluster.',
      'Pass clusters and topologies to createAdmin.',
    )
  return { client, topology }
}

async function planned({ admin }: KafkaClient, topology: Topology): Promise<TopologyPlan> {
  return planTopology(topology, await readTopology(admin, topology))
}

function stepView(step: TopologyPlan['steps'][number]): object {
  const none = { config: null, from: null, to: null, problem: null }
  const { kind, topic } = step
  switch (step.kind) {
    case 'CREATE':
      return { ...none, kind, topic, to: `${step.declared.partitions} partitions` }
    case 'CONFIG_CHANGE':
      return { ...none, kind, topic, config: step.config, from: step.from, to: step.to }
    case 'CONFIG_UNSAFE':
      return { ...none, kind, topic, config: step.config, from: step.value, problem: step.problem }
    case 'DIFFERENT_PARTITIONS':
      return { ...none, kind, topic, from: String(step.actual), to: String(step.declared), problem: step.problem }
    case 'REPLICATION_DIFFERS':
      return { ...none, kind, topic, from: String(step.actual), to: String(step.declared) }
  }
}
