import { errorName } from '@waybill/kafka/wire'
import type { AcceptedCommit } from '@waybill/sim/internal'
import { describe, expect, test } from 'vitest'
import { outsider, SimClient, simulate } from './sim-client.ts'

const asked = (partitionIndex: number, offset: bigint, metadata: string | null = null) => ({
  partitionIndex,
  committedOffset: offset,
  committedLeaderEpoch: -1,
  committedMetadata: metadata,
})

async function list(client: SimClient, states: string[]): Promise<string[][]> {
  return (await client.send('ListGroups', { states })).groups.map(({ groupId, groupState }) => [groupId, groupState])
}

describe('committed offsets', () => {
  test('one partition may fail beside another', () =>
    simulate(async (cluster) => {
      cluster.createTopic('t')
      const client = await SimClient.connect(cluster)
      const { topics } = await client.send('OffsetCommit', {
        groupId: 'g',
        ...outsider,
        groupInstanceId: null,
        topics: [
          { name: 't', partitions: [asked(0, 4n), asked(9, 4n)] },
          { name: 'unknown', partitions: [asked(0, 4n)] },
        ],
      })
      const errors = topics.flatMap(({ partitions }) => partitions.map(({ errorCode }) => errorName(errorCode)))
      expect(errors).toEqual(['NONE', 'UNKNOWN_TOPIC_OR_PARTITION', 'UNKNOWN_TOPIC_OR_PARTITION'])
      expect(await client.committed('g')).toBe(4n)
    }))

  test.each([
    [4_096, 'NONE'],
    [4_097, 'OFFSET_METADATA_TOO_LARGE'],
  ])('metadata of %i characters is answered with %s', (length, error) =>
    simulate(async (cluster) => {
      cluster.createTopic('t')
      const client = await SimClient.connect(cluster)
      expect(await client.commit('g', outsider, 1n, { metadata: 'ü'.repeat(length) })).toBe(error)
    }),
  )

  test('are accepted for a partition that the member does not own, as Kafka accepts them', () =>
    simulate(async (cluster) => {
      cluster.createTopic('t')
      cluster.createTopic('other')
      const client = await SimClient.connect(cluster)
      const joined = await client.joinAnew('g')
      await client.sync('g', joined, {})
      expect(await client.commit('g', joined, 3n, { topic: 'other' })).toBe('NONE')
      expect(await client.committed('g', 'other')).toBe(3n)
    }))

  test('of an unknown group are refused from a member and accepted from outside', () =>
    simulate(async (cluster) => {
      cluster.createTopic('t')
      const client = await SimClient.connect(cluster)
      expect(await client.commit('g', { generationId: 3, memberId: 'm' }, 1n)).toBe('GROUP_ID_NOT_FOUND')
      expect(await client.commit('g', outsider, 1n)).toBe('NONE')
    }))

  test('are all listed with their metadata when no topic is named; null metadata reads as empty', () =>
    simulate(async (cluster) => {
      cluster.createTopic('t', { partitions: 2 })
      const client = await SimClient.connect(cluster)
      await client.commit('g', outsider, 1n, { metadata: 'note' })
      await client.commit('g', outsider, 2n, { partition: 1 })
      const { topics } = await client.send('OffsetFetch', { groupId: 'g', topics: null, requireStable: true })
      expect(topics[0]?.partitions.map(({ committedOffset, metadata }) => [committedOffset, metadata])).toEqual([
        [1n, 'note'],
        [2n, ''],
      ])
    }))

  test('go with their topic', () =>
    simulate(async (cluster) => {
      cluster.createTopic('t')
      const client = await SimClient.connect(cluster)
      await client.commit('g', outsider, 1n)
      cluster.deleteTopic('t')
      expect(await client.committed('g')).toBe(-1n)
    }))

  test('are reported to the checker with member and offsets', async () => {
    const commits: AcceptedCommit[] = []
    await simulate(
      async (cluster) => {
        cluster.createTopic('t')
        const client = await SimClient.connect(cluster, 1, 'shop')
        const joined = await client.joinAnew('g')
        await client.sync('g', joined, {})
        await client.commit('g', joined, 7n, { metadata: 'm' })
        await client.commit('g', { ...joined, generationId: 0 }, 8n)
        expect(commits).toEqual([
          {
            groupId: 'g',
            client: 'shop',
            memberId: joined.memberId,
            groupInstanceId: null,
            generationId: 1,
            transactional: false,
            offsets: [{ topic: 't', partition: 0, offset: 7n, leaderEpoch: -1, metadata: 'm' }],
          },
        ])
      },
      { onCommit: (commit) => commits.push(commit) },
    )
    expect(commits).toHaveLength(1)
  })
})

describe('groups as admins see them', () => {
  test('a stable group is described with its members; an unknown one is Dead', () =>
    simulate(async (cluster) => {
      cluster.createTopic('t')
      const client = await SimClient.connect(cluster)
      const joined = await client.joinAnew('g')
      const described = async (groupId: string) =>
        (await client.send('DescribeGroups', { groups: [groupId] })).groups[0]
      expect(await described('g')).toMatchObject({ groupState: 'CompletingRebalance', protocolData: '' })
      await client.sync('g', joined, { [joined.memberId]: 'all' })
      const stable = await described('g')
      expect(stable).toMatchObject({ groupState: 'Stable', protocolType: 'consumer', protocolData: 'range' })
      expect(stable?.members[0]).toMatchObject({ memberId: joined.memberId, clientId: 'test' })
      expect(stable?.members[0]?.memberAssignment.toString()).toBe('all')
      expect(await described('unknown')).toMatchObject({ errorCode: 0, groupState: 'Dead', members: [] })
    }))

  test('groups are listed by their coordinator alone, and by state', () =>
    simulate(
      async (cluster) => {
        cluster.createTopic('t')
        cluster.moveCoordinator('GROUP', 'g', 2)
        const [one, two] = [await SimClient.connect(cluster, 1), await SimClient.connect(cluster, 2)]
        await two.commit('g', outsider, 1n)
        expect(await list(one, [])).toEqual([])
        expect(await list(two, [])).toEqual([['g', 'Empty']])
        expect(await list(two, ['Stable'])).toEqual([])
      },
      { brokers: 2 },
    ))

  test('a group with members cannot be deleted', () =>
    simulate(async (cluster) => {
      cluster.createTopic('t')
      const client = await SimClient.connect(cluster)
      const joined = await client.joinAnew('g')
      const remove = async (groups: string[]) =>
        (await client.send('DeleteGroups', { groups })).groups.map(({ errorCode }) => errorName(errorCode))
      expect(await remove(['g', 'unknown'])).toEqual(['NON_EMPTY_GROUP', 'GROUP_ID_NOT_FOUND'])
      cluster.expireMember('g', joined.memberId)
      expect(await remove(['g'])).toEqual(['NONE'])
      expect(() => cluster.group('g')).toThrow(/no group/)
    }))
})

describe('the coordinator of a group', () => {
  test('is one node; others say so', () =>
    simulate(
      async (cluster) => {
        cluster.createTopic('t')
        const one = await SimClient.connect(cluster, 1)
        const { nodeId } = await one.send('FindCoordinator', { kind: 'GROUP', key: 'g' })
        for (const node of [1, 2, 3]) {
          const client = await SimClient.connect(cluster, node)
          expect(await client.commit('g', outsider, 1n)).toBe(node === nodeId ? 'NONE' : 'NOT_COORDINATOR')
          expect(await client.committed('g')).toBe(node === nodeId ? 1n : 'NOT_COORDINATOR')
        }
      },
      { brokers: 3 },
    ))

  test('moves with its persisted members and offsets; a pending join is refused', () =>
    simulate(
      async (cluster) => {
        cluster.createTopic('t')
        cluster.moveCoordinator('GROUP', 'g', 1)
        const [one, other, two] = await Promise.all([
          SimClient.connect(cluster, 1),
          SimClient.connect(cluster, 1),
          SimClient.connect(cluster, 2),
        ])
        const joined = await one.joinAnew('g')
        await one.sync('g', joined, { [joined.memberId]: 'all' })
        await one.commit('g', joined, 5n)
        const waiting = other.joinAnew('g')
        while ((await one.heartbeat('g', joined)) === 'NONE');
        cluster.moveCoordinator('GROUP', 'g', 2)
        expect(errorName((await waiting).errorCode)).toBe('NOT_COORDINATOR')
        expect(await one.heartbeat('g', joined)).toBe('NOT_COORDINATOR')
        expect(await two.heartbeat('g', joined)).toBe('NONE')
        expect(await two.committed('g')).toBe(5n)
        expect(cluster.group('g')).toMatchObject({ state: 'Stable', generation: 1 })
      },
      { brokers: 2 },
    ))

  test('still knows its leader after a move', () =>
    simulate(
      async (cluster, runtime) => {
        cluster.createTopic('t')
        cluster.moveCoordinator('GROUP', 'g', 1)
        const [one, other, two] = await Promise.all([1, 1, 2].map((node) => SimClient.connect(cluster, node)))
        if (one === undefined || other === undefined || two === undefined) throw new Error('not connected')
        const first = await one.join('g', '', { instanceId: 'a' })
        const waiting = other.join('g', '', { instanceId: 'b' })
        await runtime.timers.sleep(10)
        const leading = await one.join('g', first.memberId, { instanceId: 'a' })
        const following = await waiting
        await Promise.all([one.sync('g', leading, {}, 'a'), other.sync('g', following, {}, 'b')])
        const back = await one.join('g', '', { instanceId: 'a' })
        cluster.moveCoordinator('GROUP', 'g', 2)
        const { leader } = await two.join('g', following.memberId, { instanceId: 'b' })
        expect(leader).toBe(back.memberId)
      },
      { brokers: 2 },
    ))

  test('that moves before the leader has synced loses the generation that began', () =>
    simulate(
      async (cluster) => {
        cluster.createTopic('t')
        cluster.moveCoordinator('GROUP', 'g', 1)
        const [one, two] = [await SimClient.connect(cluster, 1), await SimClient.connect(cluster, 2)]
        const joined = await one.joinAnew('g')
        await one.sync('g', joined, { [joined.memberId]: 'all' })
        const again = await one.join('g', joined.memberId)
        expect(again.generationId).toBe(2)
        cluster.moveCoordinator('GROUP', 'g', 2)
        expect((await two.sync('g', again)).error).toBe('ILLEGAL_GENERATION')
        expect(await two.heartbeat('g', joined)).toBe('NONE')
      },
      { brokers: 2 },
    ))
})
