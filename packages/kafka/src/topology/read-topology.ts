import type { Admin, AdminCallOptions } from '../client/admin/admin.ts'
import { type AdminResult, requireAllDone } from '../client/admin/admin-result.ts'
import { isMissing } from '../client/admin/topic-view.ts'
import type { ActualTopic, ActualTopology } from './plan-topology.ts'
import type { DeclaredTopic } from './topology.ts'

/**
 * Reads these topics and their sources from the cluster.
 *
 * @throws PartialFailureError when one of them cannot be read: a plan must not treat it as missing.
 */
export async function readTopology(
  admin: Admin,
  { topics }: { readonly topics: readonly Pick<DeclaredTopic, 'name' | 'source'>[] },
  options?: AdminCallOptions,
): Promise<ActualTopology> {
  const names = [...new Set(topics.flatMap(({ name, source }) => (source === undefined ? [name] : [name, source])))]
  const described = present(await admin.describeTopics(names, options))
  const views = requireAllDone('Describing topics', described)
  const configs = present(
    await admin.describeConfigs(
      views.map(({ topic }) => topic),
      options,
    ),
  )
  const configsByTopic = new Map(requireAllDone('Reading configs', configs).map((one) => [one.topic, one.configs]))
  return new Map(
    views.flatMap(({ topic, partitions, replication }): [string, ActualTopic][] => {
      const own = configsByTopic.get(topic)
      return own === undefined ? [] : [[topic, { partitions: partitions.length, replication, configs: own }]]
    }),
  )
}

function present<R extends AdminResult>(outcomes: readonly R[]): R[] {
  return outcomes.filter((one: AdminResult) => one.outcome === 'DONE' || !isMissing(one.error))
}
