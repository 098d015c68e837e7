/** Validates the first argument of admin calls before any request, for callers without types. */

import { instance, integer, list, mapOf, nested, optional, type Rule, resolveOptions, text } from '@waybill/core/option'
import { isTopicPartition } from '../cluster/is-topic-partition.ts'
import type { TopicPartition } from '../cluster/topic-partition.ts'
import type { Admin } from './admin.ts'

const config = instance<string>('a string, even for a number', (value) => typeof value === 'string')
const changedConfig = instance<string | null>(
  'a string, or null to remove it',
  (value) => value === null || typeof value === 'string',
)
const names = list(text())
const topics = { topics: names }
const groupIds = { groupIds: names }
const groupId = { groupId: text() }
const partitions = {
  partitions: list(instance<TopicPartition>('an object like { topic, partition }', isTopicPartition)),
}

/** Rules of the first argument, by the name of the call. The key names the argument in errors. */
const firstArguments = {
  createTopics: {
    topics: list(
      nested({
        topic: text(),
        partitions: integer({ min: -1 }),
        replication: integer({ min: -1 }),
        configs: optional(mapOf(config)),
      }),
    ),
  },
  deleteTopics: topics,
  describeTopics: topics,
  describeConfigs: topics,
  createPartitions: { counts: mapOf(integer({ min: 1 })) },
  alterConfigs: { changes: mapOf(mapOf(changedConfig)) },
  deleteRecords: partitions,
  listOffsets: partitions,
  groupOffsets: groupId,
  alterGroupOffsets: groupId,
  describeGroups: groupIds,
  deleteGroups: groupIds,
} satisfies { readonly [K in keyof Admin]?: Readonly<Record<string, Rule<unknown>>> }

/** Returns an admin whose calls reject with OptionsError for invalid arguments. */
export function withCheckedArguments(admin: Admin): Admin {
  const checked = Object.entries(firstArguments).map(([call, rules]) => {
    const inner = admin[call as keyof Admin] as (...given: unknown[]) => Promise<unknown>
    const [name = ''] = Object.keys(rules)
    const outer = async (...given: unknown[]): Promise<unknown> => {
      resolveOptions(call, rules, { [name]: given[0] })
      return inner(...given)
    }
    return [call, outer] as const
  })
  return { ...admin, ...Object.fromEntries(checked) }
}
