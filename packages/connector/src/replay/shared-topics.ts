/**
 * Finds other groups that use the retry and dead letter topics of a binding: with `retryTopicNaming: PER_TOPIC` every group
 * of a source derives the same names. Two things show them:
 *
 * - the groups of the first tier, `{group}-retry-1`, whose members are assigned to this binding's topics: running services,
 *   also before their first failure;
 * - the group in the headers of the last records of each topic: services that do not run now.
 *
 * The search is bounded, so it may miss a group: one request for the list of groups and one for the members of at most 50
 * of them; the last five records of at most eight partitions of each topic; five seconds for each request and for reading.
 */

import { type Runtime, replayHeader } from '@waybill/core'
import { type KafkaClient, type KafkaRecord, requireAllDone } from '@waybill/kafka'
import type { OffsetRange } from '@waybill/kafka/internal'
import type { ResolvedBinding } from '../binding/resolved-binding.ts'
import { tierGroupId } from '../options/topic-names.ts'
import { readDeadLetter } from '../records/dead-letter-record.ts'
import { partitionsOf } from './dead-letter-log.ts'

/** A topic and the other groups that use it. */
export interface SharedTopic {
  readonly topic: string
  readonly groups: readonly string[]
}

/** The dependencies of the search. */
export interface SharedTopicsDeps {
  readonly client: Pick<KafkaClient, 'admin' | 'reader'>
  readonly runtime: Pick<Runtime, 'timers'>
}

const deadlineMs = 5_000
const mostGroups = 50
const mostPartitions = 8
const lastRecords = 5n

/** Finds the shared topics of a binding. Rejects when a request fails, or the time is over. */
export async function findSharedTopics(
  binding: ResolvedBinding,
  deps: SharedTopicsDeps,
): Promise<readonly SharedTopic[]> {
  if (binding.sharedTopics.length === 0) return []
  const found = new Map(binding.sharedTopics.map((topic) => [topic, new Set<string>()]))
  const [assigned, written] = await Promise.all([assignedGroups(binding, deps), writtenGroups(binding, deps)])
  for (const { topic, group } of [...assigned, ...written]) if (group !== binding.groupId) found.get(topic)?.add(group)
  return Array.from(found, ([topic, groups]) => ({ topic, groups: [...groups].toSorted() })).filter(
    ({ groups }) => groups.length > 0,
  )
}

interface Use {
  readonly topic: string
  readonly group: string
}

async function assignedGroups({ groupId }: ResolvedBinding, { client }: SharedTopicsDeps): Promise<readonly Use[]> {
  const suffix = tierGroupId('', 1)
  const own = tierGroupId(groupId, 1)
  const listed = await client.admin.listGroups({ deadlineMs })
  const ids = listed.map((group) => group.groupId).filter((id) => id.endsWith(suffix) && id !== own)
  if (ids.length === 0) return []
  const described = await client.admin.describeGroups(ids.slice(0, mostGroups), { deadlineMs })
  return described.flatMap((group) => {
    if (group.outcome !== 'DONE') return []
    const topics = new Set(
      (group.members ?? []).flatMap(({ assignment }) => assignment ?? []).map(({ topic }) => topic),
    )
    return Array.from(topics, (topic) => ({ topic, group: group.groupId.slice(0, -suffix.length) }))
  })
}

async function writtenGroups(
  { sharedTopics, deadLetter }: ResolvedBinding,
  deps: SharedTopicsDeps,
): Promise<readonly Use[]> {
  const { client, runtime } = deps
  const ranges = (await Promise.all(sharedTopics.map((topic) => endOf(topic, client.admin)))).flat()
  if (ranges.length === 0) return []
  const uses: Use[] = []
  await using reader = client.reader(ranges)
  using _ = runtime.timers.schedule(deadlineMs, () => void reader.close())
  for (let records = await reader.next(100); records !== undefined; records = await reader.next(100)) {
    for (const record of records) {
      const group = groupOf(record, record.topic === deadLetter.topic)
      if (group !== undefined) uses.push({ topic: record.topic, group })
    }
  }
  return uses
}

/** Returns the ranges of the last records of a topic; none for partitions without records. */
async function endOf(topic: string, admin: KafkaClient['admin']): Promise<readonly OffsetRange[]> {
  const partitions = (await partitionsOf(admin, topic, { deadlineMs })).slice(0, mostPartitions)
  if (partitions.length === 0) return []
  const [starts, ends] = await Promise.all([
    admin.listOffsets(partitions, 'EARLIEST', { deadlineMs }),
    admin.listOffsets(partitions, 'LATEST', { deadlineMs }),
  ])
  const startOf = new Map(
    requireAllDone(`Finding the start of ${topic}`, starts).map((one) => [one.partition, one.offset]),
  )
  return requireAllDone(`Finding the end of ${topic}`, ends).flatMap(({ partition, offset }) => {
    const [start, until] = [startOf.get(partition) ?? 0n, offset ?? 0n]
    const from = until - lastRecords > start ? until - lastRecords : start
    return from < until ? [{ topic, partition, from, until }] : []
  })
}

function groupOf(record: KafkaRecord, isDeadLetter: boolean): string | undefined {
  return isDeadLetter ? readDeadLetter(record).consumerGroup : record.headers.text(replayHeader.consumerGroup)
}
