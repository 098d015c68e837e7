import assert from 'node:assert/strict'
import { errorName, type OffsetCommitPartition, type RequestOf } from '@waybill/kafka/wire'
import type { KafkaSuite } from '../kafka-harness.ts'
import {
  commitAs,
  committedOffset,
  enterGroup,
  enterGroupTogether,
  offsetOf,
  outsider,
  shareOut,
  WireMember,
} from './group-requests.ts'
import type { WireClient } from './wire-client.ts'

/** Tests of committed offsets: which commits are accepted, and what a group stores. */
export function offsetPart(suite: KafkaSuite<WireClient>): void {
  suite.describe('OffsetCommit', () => commitTests(suite))
  suite.describe('OffsetFetch', () => fetchTests(suite))
}

function commitTests({ test }: KafkaSuite<WireClient>): void {
  test('is taken from a member of the generation, for any partition: ownership is not looked at', async (wire) => {
    const { name } = await wire.createTopic('owned', { partitions: 4 })
    const [leader, follower] = await enterGroupTogether(wire, 'owned')
    assert.equal(await leader.commit(name, 7n, { partition: 3 }), 'NONE')
    assert.equal(await follower.commit(name, 3n, { partition: 3 }), 'NONE', 'moving it back as well')
    assert.equal(await committedOffset(wire, leader.groupId, name, { partition: 3 }), 3n)
  })

  test('is refused from an older generation, a later one, and a stranger', async (wire) => {
    const { name } = await wire.createTopic('stale')
    const [leader, follower] = await enterGroupTogether(wire, 'stale')
    assert.equal(await leader.commit(name, 1n), 'NONE')
    follower.generationId = 1
    assert.equal(await follower.commit(name, 9n), 'ILLEGAL_GENERATION')
    follower.generationId = 3
    assert.equal(await follower.commit(name, 9n), 'ILLEGAL_GENERATION')
    follower.memberId = 'stranger'
    assert.equal(await follower.commit(name, 9n), 'UNKNOWN_MEMBER_ID')
    assert.equal(await committedOffset(wire, leader.groupId, name), 1n)
  })

  test('is refused from outside a group that has members, and taken when it has none', async (wire) => {
    const { name } = await wire.createTopic('outside')
    const member = await enterGroup(wire, 'outside')
    const { groupId } = member
    assert.equal(await commitAs(wire, { groupId, ...outsider }, name, 9n), 'UNKNOWN_MEMBER_ID')
    assert.equal(await member.commit(name, 1n), 'NONE')
    await member.leave()
    assert.equal(await commitAs(wire, { groupId, ...outsider }, name, 9n), 'NONE')
    assert.equal(await committedOffset(wire, groupId, name), 9n)
  })

  test('from outside makes a group; as a member of one that does not exist it is refused', async (wire) => {
    const { name } = await wire.createTopic('nowhere')
    const groupId = wire.named('nowhere')
    const stranger = { groupId, generationId: 1, memberId: 'stranger', groupInstanceId: null }
    assert.equal(await commitAs(wire, stranger, name, 1n), 'GROUP_ID_NOT_FOUND')
    assert.equal(await commitAs(wire, { groupId, ...outsider }, name, 1n), 'NONE')
    assert.equal(await committedOffset(wire, groupId, name), 1n)
  })

  test('is taken while others join, and refused while the leader assigns', async (wire) => {
    const { name } = await wire.createTopic('states')
    const leader = await enterGroup(wire, 'states')
    const follower = new WireMember(wire, leader.groupId)
    const entering = follower.enter()
    await leader.untilRebalance()
    assert.equal(await leader.commit(name, 7n), 'NONE', 'the last word before it gives its partitions back')
    assert.equal(await committedOffset(wire, leader.groupId, name), 7n)
    await Promise.all([leader.join(), entering])
    assert.equal(await leader.commit(name, 8n), 'REBALANCE_IN_PROGRESS')
    leader.generationId--
    assert.equal(await leader.commit(name, 8n), 'ILLEGAL_GENERATION')
    leader.generationId++
    await shareOut(leader, follower)
    assert.equal(await leader.commit(name, 8n), 'NONE')
  })

  test('answers for each partition alone', async (wire) => {
    const { name } = await wire.createTopic('mixed')
    const { groupId, memberId, generationId } = await enterGroup(wire, 'mixed')
    const unknown = wire.named('mixed-unknown')
    const answer = await wire.send('OffsetCommit', {
      groupId,
      memberId,
      generationId,
      groupInstanceId: null,
      topics: [
        { name, partitions: [offsetOf(0, 5n), offsetOf(9, 5n)] },
        { name: unknown, partitions: [offsetOf(0, 5n)] },
      ],
    })
    const errors = answer.topics.flatMap(({ name: topic, partitions }) =>
      partitions.map(({ partitionIndex, errorCode }) => `${topic}-${partitionIndex} ${errorName(errorCode)}`),
    )
    const wanted = [`${name}-0 NONE`, `${name}-9 UNKNOWN_TOPIC_OR_PARTITION`, `${unknown}-0 UNKNOWN_TOPIC_OR_PARTITION`]
    assert.deepEqual(errors.toSorted(), wanted.toSorted())
    assert.equal(await committedOffset(wire, groupId, name), 5n, 'the good one is committed')
  })

  test('takes 4,096 characters of metadata and no more', async (wire) => {
    const { name } = await wire.createTopic('metadata')
    const groupId = wire.named('metadata')
    const commit = (metadata: string): Promise<string> =>
      commitAs(wire, { groupId, ...outsider }, name, 5n, { metadata })
    assert.equal(await commit('m'.repeat(4_096)), 'NONE')
    assert.equal((await fetchOffsets(wire, groupId, name))[0]?.metadata, 'm'.repeat(4_096))
    assert.equal(await commit('m'.repeat(4_097)), 'OFFSET_METADATA_TOO_LARGE')
    assert.equal(await commit('é'.repeat(4_096)), 'NONE', 'characters, not bytes')
  })

  test('does not look at the log: any offset will do', async (wire) => {
    const { name } = await wire.createTopic('any-offset')
    const groupId = wire.named('any-offset')
    for (const offset of [2n ** 60n, 0n])
      assert.equal(await commitAs(wire, { groupId, ...outsider }, name, offset), 'NONE')
  })
}

function fetchTests({ test }: KafkaSuite<WireClient>): void {
  test('answers what was committed with it, and -1 where nothing was', async (wire) => {
    const { name } = await wire.createTopic('remembered', { partitions: 2 })
    const groupId = wire.named('remembered')
    const partition: OffsetCommitPartition = { ...offsetOf(0, 5n, 'note'), committedLeaderEpoch: 0 }
    await wire.send('OffsetCommit', { groupId, ...outsider, topics: [{ name, partitions: [partition] }] })
    assert.deepEqual(await fetchOffsets(wire, groupId, name, [0, 1]), [
      { partitionIndex: 0, committedOffset: 5n, committedLeaderEpoch: 0, metadata: 'note', errorCode: 0 },
      { partitionIndex: 1, committedOffset: -1n, committedLeaderEpoch: -1, metadata: '', errorCode: 0 },
    ])
  })

  test('knows all offsets of a group, and none of one that does not exist', async (wire) => {
    const one = await wire.createTopic('all-one')
    const other = await wire.createTopic('all-other', { partitions: 2 })
    const groupId = wire.named('all')
    const ask: RequestOf<'OffsetFetch'> = { groupId, topics: null, requireStable: true }
    assert.deepEqual(await wire.send('OffsetFetch', ask), { errorCode: 0, topics: [] })
    await commitAs(wire, { groupId, ...outsider }, one.name, 1n)
    await commitAs(wire, { groupId, ...outsider }, other.name, 2n, { partition: 1 })
    const { topics } = await wire.send('OffsetFetch', ask)
    const offsets = topics.flatMap(({ name, partitions }) =>
      partitions.map(({ partitionIndex, committedOffset: offset }) => `${name}-${partitionIndex} ${offset}`),
    )
    assert.deepEqual(offsets.toSorted(), [`${one.name}-0 1`, `${other.name}-1 2`].toSorted())
  })

  test('forgets the offsets of a topic that is deleted', async (wire) => {
    const { name } = await wire.createTopic('deleted')
    const groupId = wire.named('deleted')
    await commitAs(wire, { groupId, ...outsider }, name, 1n)
    await wire.send('DeleteTopics', { topicNames: [name], timeoutMs: 5_000 })
    await wire.until(
      () => committedOffset(wire, groupId, name),
      (offset) => offset === -1n,
    )
  })
}

async function fetchOffsets(
  wire: WireClient,
  groupId: string,
  name: string,
  partitionIndexes: readonly number[] = [0],
) {
  const topics = [{ name, partitionIndexes }]
  const answer = await wire.send('OffsetFetch', { groupId, topics, requireStable: true })
  return (answer.topics[0]?.partitions ?? []).toSorted((a, b) => a.partitionIndex - b.partitionIndex)
}
