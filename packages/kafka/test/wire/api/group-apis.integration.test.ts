import { Buffer } from 'node:buffer'
import { errorCode, type OffsetCommitPartition, type ResponseOf } from '@waybill/kafka/wire'
import { expect, test } from 'vitest'
import { describeOnKafka } from '../on-kafka.ts'

function offsets(partitionIndex: number, committedMetadata: string | null): OffsetCommitPartition {
  return { partitionIndex, committedOffset: 2n ** 60n, committedLeaderEpoch: 4, committedMetadata }
}

describeOnKafka('groups on Apache Kafka', ({ named, send, createTopic, groupReady }) => {
  const join = async (groupId: string, memberId = ''): Promise<ResponseOf<'JoinGroup'>> =>
    send('JoinGroup', {
      groupId,
      sessionTimeoutMs: 6_000,
      rebalanceTimeoutMs: 6_000,
      memberId,
      groupInstanceId: null,
      protocolType: 'consumer',
      protocols: [{ name: 'range', metadata: Buffer.from('wants') }],
      reason: 'a test',
    })

  /** A member that leads a group of its own. */
  const lead = async (groupId: string) => {
    await groupReady(groupId)
    const { memberId } = await join(groupId)
    const { generationId, ...joined } = await join(groupId, memberId)
    return { groupId, memberId, generationId, joined, groupInstanceId: null }
  }

  const sync = (member: Awaited<ReturnType<typeof lead>>, assignment: Buffer) =>
    send('SyncGroup', {
      groupId: member.groupId,
      generationId: member.generationId,
      memberId: member.memberId,
      groupInstanceId: null,
      protocolType: 'consumer',
      protocolName: 'range',
      assignments: [{ memberId: member.memberId, assignment }],
    })

  const leave = (groupId: string, memberId: string) =>
    send('LeaveGroup', { groupId, members: [{ memberId, groupInstanceId: null, reason: 'over' }] })

  test('from the first join to the last leave', async () => {
    const groupId = named('whole-life')
    await groupReady(groupId)
    const first = await join(groupId)
    expect(first).toMatchObject({ errorCode: errorCode.MEMBER_ID_REQUIRED, members: [] })
    expect(first.memberId).not.toBe('')
    const joined = await join(groupId, first.memberId)
    expect(joined).toEqual({
      errorCode: 0,
      generationId: 1,
      protocolName: 'range',
      leader: first.memberId,
      skipAssignment: false,
      memberId: first.memberId,
      members: [{ memberId: first.memberId, groupInstanceId: null, metadata: Buffer.from('wants') }],
    })
    const member = { groupId, memberId: first.memberId, generationId: 1, groupInstanceId: null }
    const assignment = Buffer.from('all of it')
    expect(await sync({ ...member, joined }, assignment)).toEqual({ errorCode: 0, assignment })
    expect(await send('Heartbeat', member)).toEqual({ errorCode: 0 })
    expect(await send('Heartbeat', { ...member, generationId: 9 })).toEqual({
      errorCode: errorCode.ILLEGAL_GENERATION,
    })
    const described = await send('DescribeGroups', { groups: [groupId] })
    expect(described.groups).toMatchObject([
      {
        errorCode: 0,
        groupId,
        groupState: 'Stable',
        protocolType: 'consumer',
        protocolData: 'range',
        members: [
          {
            memberId: first.memberId,
            clientId: 'transport-test',
            memberMetadata: Buffer.from('wants'),
            memberAssignment: assignment,
          },
        ],
      },
    ])
    const listed = await send('ListGroups', { states: ['Stable'] })
    expect(listed.groups).toContainEqual({
      groupId,
      protocolType: 'consumer',
      groupState: 'Stable',
      groupType: 'classic',
    })
    expect(await send('DeleteGroups', { groups: [groupId] })).toEqual({
      groups: [{ groupId, errorCode: errorCode.NON_EMPTY_GROUP }],
    })
    expect(await leave(groupId, first.memberId)).toEqual({
      errorCode: 0,
      members: [{ memberId: first.memberId, groupInstanceId: null, errorCode: 0 }],
    })
    expect((await leave(groupId, 'nobody')).members[0]?.errorCode).toBe(errorCode.UNKNOWN_MEMBER_ID)
    const deleted = await send('DeleteGroups', { groups: [groupId, named('no-group')] })
    expect(deleted.groups).toContainEqual({ groupId, errorCode: 0 })
    expect(deleted.groups).toContainEqual({ groupId: named('no-group'), errorCode: errorCode.GROUP_ID_NOT_FOUND })
  })

  test('a member that nobody knows is refused by JoinGroup and SyncGroup', async () => {
    const groupId = named('strangers')
    await groupReady(groupId)
    expect((await join(groupId, 'stranger')).errorCode).toBe(errorCode.UNKNOWN_MEMBER_ID)
    const stranger = { ...(await lead(groupId)), memberId: 'stranger' }
    expect((await sync(stranger, Buffer.from('x'))).errorCode).toBe(errorCode.UNKNOWN_MEMBER_ID)
  })

  test('OffsetCommit says for each partition what became of it, and OffsetFetch gives back what was kept', async () => {
    const { topic } = await createTopic('commits', { partitions: 2 })
    const member = await lead(named('committers'))
    await sync(member, Buffer.from('x'))
    const { groupId, memberId, generationId } = member
    const commit = (partitions: readonly OffsetCommitPartition[], generation = generationId) =>
      send('OffsetCommit', {
        groupId,
        memberId,
        generationId: generation,
        groupInstanceId: null,
        topics: [{ name: topic, partitions }],
      })
    expect(await commit([offsets(0, 'x'.repeat(4_096)), offsets(1, 'x'.repeat(5_000)), offsets(9, null)])).toEqual({
      topics: [
        {
          name: topic,
          partitions: [
            // Not in the order of the request.
            { partitionIndex: 9, errorCode: errorCode.UNKNOWN_TOPIC_OR_PARTITION },
            { partitionIndex: 0, errorCode: 0 },
            { partitionIndex: 1, errorCode: errorCode.OFFSET_METADATA_TOO_LARGE },
          ],
        },
      ],
    })
    expect((await commit([offsets(0, null)], 7)).topics[0]?.partitions[0]?.errorCode).toBe(errorCode.ILLEGAL_GENERATION)
    const fetched = await send('OffsetFetch', {
      groupId,
      topics: [{ name: topic, partitionIndexes: [0, 1] }],
      requireStable: true,
    })
    const partitions = fetched.topics[0]?.partitions.toSorted((a, b) => a.partitionIndex - b.partitionIndex)
    expect(partitions).toEqual([
      {
        partitionIndex: 0,
        committedOffset: 2n ** 60n,
        committedLeaderEpoch: 4,
        metadata: 'x'.repeat(4_096),
        errorCode: 0,
      },
      { partitionIndex: 1, committedOffset: -1n, committedLeaderEpoch: -1, metadata: '', errorCode: 0 },
    ])
    const all = await send('OffsetFetch', { groupId, topics: null, requireStable: false })
    expect(all.topics).toMatchObject([{ name: topic, partitions: [{ partitionIndex: 0 }] }])
    await leave(groupId, memberId)
  })
})
