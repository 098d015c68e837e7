/**
 * Finds records in tiers that a binding no longer reads, because its tiers were removed or renamed, or its ordering
 * mode changed. Nothing else would report them.
 *
 * A tier was the binding's own when its group has committed there, or when the source's commit says that records went
 * to tiers. Topics shared by several groups hold records of others too, so the counts are upper bounds.
 */

import { type Admin, requireAllDone, type TopicPartition } from '@waybill/kafka'
import type { ResolvedBinding } from '../binding/resolved-binding.ts'
import { decodeCommitMetadata } from '../ledger/commit-metadata.ts'
import { mostTiers } from '../options/binding-rules.ts'
import { containerPlacesOf } from '../options/container-places.ts'
import { tierGroupId, tierTopic } from '../options/topic-names.ts'

/** The unread records of one partition of a former tier. */
export interface Stranded extends TopicPartition {
  /** The group that used to read them. */
  readonly groupId: string
  /** An upper bound. */
  readonly records: bigint
}

interface FormerTier {
  readonly topic: string
  readonly groupId: string
}

type StrandedAdmin = Pick<Admin, 'listTopics' | 'describeTopics' | 'describeGroups' | 'groupOffsets' | 'listOffsets'>

/** Shorter than the time a start may take. */
const deadline = { deadlineMs: 10_000 }

/** Finds stranded records. Rejects when a request fails. */
export async function findStranded(binding: ResolvedBinding, admin: StrandedAdmin): Promise<readonly Stranded[]> {
  const existing = new Set(await admin.listTopics(deadline))
  const former = formerTiersOf(binding).filter(({ topic }) => existing.has(topic))
  if (former.length === 0) return []
  const hasRetried = await hasRetriedThroughTiers(binding, admin)
  const found = await Promise.all(former.map((tier) => strandedIn(tier, hasRetried, admin)))
  return found.flat()
}

/** Returns every tier that the binding could have had under either naming, except those it reads. */
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

/** Returns whether the source sent more records to retry than the waiting topic ever held. */
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

/** Returns whether the group has members: an instance with the previous options may still read the tier. */
async function hasMembers(groupId: string, admin: StrandedAdmin): Promise<boolean> {
  const [group] = await admin.describeGroups([groupId], deadline)
  return group?.outcome === 'DONE' && group.members?.length !== 0
}

async function offsetsAt(
  partitions: readonly TopicPartition[],
  at: 'EARLIEST' | 'LATEST',
  admin: StrandedAdmin,
): Promise<ReadonlyMap<number, bigint>> {
  const offsets = requireAllDone(
    'Reading the offsets of former tiers',
    await admin.listOffsets(partitions, at, deadline),
  )
  return new Map(offsets.map(({ partition, offset }) => [partition, offset ?? 0n]))
}
