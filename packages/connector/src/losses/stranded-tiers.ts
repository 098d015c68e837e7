/**
 * Finds records that wait in tiers which a binding used to read and does not read any more: its tiers were taken away or
 * are called otherwise, or another ordering mode was chosen. Nothing else would ever say so.
 *
 * A tier is the binding's own former one when its group has committed there, or when its source says that records went to
 * tiers. Topics that several groups share hold records of others too, so what is found is the most that can wait.
 */

import { type Admin, requireAllDone, type TopicPartition } from '@waybill/kafka'
import type { ResolvedBinding } from '../binding/resolved-binding.ts'
import { decodeCommitMetadata } from '../ledger/commit-metadata.ts'
import { mostTiers } from '../options/binding-rules.ts'
import { containerPlacesOf } from '../options/container-places.ts'
import { tierGroupId, tierTopic } from '../options/topic-names.ts'

/** Records of one partition that nobody reads. */
export interface Stranded extends TopicPartition {
  /** The group that used to read them. */
  readonly groupId: string
  /** As many at most. */
  readonly records: bigint
}

interface FormerTier {
  readonly topic: string
  readonly groupId: string
}

type StrandedAdmin = Pick<Admin, 'listTopics' | 'describeTopics' | 'describeGroups' | 'groupOffsets' | 'listOffsets'>

/** Less than a start may take. */
const deadline = { deadlineMs: 10_000 }

/** Looks for them. Rejects when the cluster does not answer or refuses. */
export async function findStranded(binding: ResolvedBinding, admin: StrandedAdmin): Promise<readonly Stranded[]> {
  const existing = new Set(await admin.listTopics(deadline))
  const former = formerTiersOf(binding).filter(({ topic }) => existing.has(topic))
  if (former.length === 0) return []
  const hasRetried = await hasRetriedThroughTiers(binding, admin)
  const found = await Promise.all(former.map((tier) => strandedIn(tier, hasRetried, admin)))
  return found.flat()
}

/** Every tier that the binding could have had under either naming, without those it reads. */
function formerTiersOf(binding: ResolvedBinding): readonly FormerTier[] {
  const { topic, groupId } = binding
  const read = new Set(containerPlacesOf(binding).map((place) => place.topic))
  const tiers = Array.from({ length: mostTiers }, (_, at) => at + 1)
  return (['PER_TOPIC', 'PER_GROUP'] as const)
    .flatMap((retryTopicNaming) =>
      tiers.map((tier) => ({
        topic: tierTopic({ topic, groupId, retryTopicNaming }, tier),
        groupId: tierGroupId(groupId, tier),
      })),
    )
    .filter((tier) => !read.has(tier.topic))
}

/** Whether more left the source to be tried again than ever was in a waiting topic. */
async function hasRetriedThroughTiers({ topic, groupId }: ResolvedBinding, admin: StrandedAdmin): Promise<boolean> {
  const offsets = requireAllDone(
    `Reading the offsets of ${groupId}`,
    await admin.groupOffsets(groupId, undefined, deadline),
  )
  return offsets.some((one) => {
    if (one.topic !== topic) return false
    const read = decodeCommitMetadata({ offset: one.committed, metadata: one.metadata })
    if ('problem' in read) return false
    const { source, waiting } = read
    if (waiting === undefined) return source.counts.retried > 0n
    const { counts, waitingNow, replaysFinished } = waiting
    return source.counts.retried + replaysFinished > counts.ok + counts.dead + waitingNow
  })
}

async function strandedIn(
  { topic, groupId }: FormerTier,
  hasRetried: boolean,
  admin: StrandedAdmin,
): Promise<readonly Stranded[]> {
  const [view] = requireAllDone(`Describing ${topic}`, await admin.describeTopics([topic], deadline))
  const partitions = view?.partitions.map(({ partition }) => ({ topic, partition })) ?? []
  const committed = await committedBy(groupId, partitions, admin)
  if (committed.size === 0 && !hasRetried) return []
  if (await hasMembers(groupId, admin)) return []
  const [starts, ends] = await Promise.all([
    offsetsAt(partitions, 'EARLIEST', admin),
    offsetsAt(partitions, 'LATEST', admin),
  ])
  return partitions.flatMap((at) => {
    const [start = 0n, end = 0n] = [starts.get(at.partition), ends.get(at.partition)]
    const next = committed.get(at.partition) ?? start
    const records = end - (next > start ? next : start)
    return records > 0n ? [{ ...at, groupId, records }] : []
  })
}

async function committedBy(
  groupId: string,
  partitions: readonly TopicPartition[],
  admin: StrandedAdmin,
): Promise<ReadonlyMap<number, bigint>> {
  const what = `Reading the offsets of ${groupId}`
  const offsets = requireAllDone(what, await admin.groupOffsets(groupId, partitions, deadline))
  return new Map(
    offsets.flatMap(({ partition, committed }) => (committed === null ? [] : [[partition, committed] as const])),
  )
}

/** Another instance may still run with the former options: then they are read. */
async function hasMembers(groupId: string, admin: StrandedAdmin): Promise<boolean> {
  const [group] = await admin.describeGroups([groupId], deadline)
  return group?.outcome === 'DONE' && group.members?.length !== 0
}

async function offsetsAt(
  partitions: readonly TopicPartition[],
  at: 'EARLIEST' | 'LATEST',
  admin: StrandedAdmin,
): Promise<ReadonlyMap<number, bigint>> {
  const offsets = requireAllDone('Reading how far tiers reach', await admin.listOffsets(partitions, at, deadline))
  return new Map(offsets.map(({ partition, offset }) => [partition, offset ?? 0n]))
}
