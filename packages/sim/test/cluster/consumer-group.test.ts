import { errorName } from '@waybill/kafka/wire'
import type { SimCluster } from '@waybill/sim'
import { describe, expect, test } from 'vitest'
import { outsider, SimClient, simulate } from './sim-client.ts'

type Joined = Awaited<ReturnType<SimClient['join']>>

async function clients(cluster: SimCluster, count: number): Promise<SimClient[]> {
  cluster.createTopic('t', { partitions: 4 })
  return Promise.all(Array.from({ length: count }, (_, index) => SimClient.connect(cluster, 1, `client-${index}`)))
}

/** Joins a group of one member that owns everything. */
async function alone(client: SimClient, options: Parameters<SimClient['join']>[2] = {}): Promise<Joined> {
  const joined =
    options.instanceId === undefined ? await client.joinAnew('g', options) : await client.join('g', '', options)
  await client.sync('g', joined, { [joined.memberId]: 'all' }, options.instanceId ?? null)
  return joined
}

/** Creates a stable group of two; the first leads. */
async function couple(one: SimClient, two: SimClient): Promise<[Joined, Joined]> {
  const first = await alone(one)
  const waiting = two.joinAnew('g')
  while ((await one.heartbeat('g', first)) === 'NONE');
  const [again, second] = await Promise.all([one.join('g', first.memberId), waiting])
  const given = { [again.memberId]: 'half', [second.memberId]: 'other half' }
  await Promise.all([one.sync('g', again, given), two.sync('g', second)])
  return [again, second]
}

describe('joining', () => {
  test('a dynamic member gets an id first, then a generation, and leads when it is alone', () =>
    simulate(async (cluster) => {
      const [client] = (await clients(cluster, 1)) as [SimClient]
      const refused = await client.join('g', '')
      expect(errorName(refused.errorCode)).toBe('MEMBER_ID_REQUIRED')
      expect(refused.memberId).toMatch(/^client-0-[0-9a-f-]{36}$/)
      const joined = await client.join('g', refused.memberId)
      expect(joined).toMatchObject({ errorCode: 0, generationId: 1, protocolName: 'range', leader: refused.memberId })
      expect(joined.members.map(({ memberId }) => memberId)).toEqual([refused.memberId])
      expect(await client.sync('g', joined, { [joined.memberId]: 'all' })).toEqual({ error: 'NONE', assignment: 'all' })
      expect(cluster.group('g')).toMatchObject({ state: 'Stable', generation: 1 })
    }))

  test('waits until all members have joined again; only the leader sees them; syncing waits for the leader', () =>
    simulate(async (cluster) => {
      const [one, two] = (await clients(cluster, 2)) as [SimClient, SimClient]
      const [first, second] = await couple(one, two)
      expect([first.generationId, second.generationId]).toEqual([2, 2])
      expect([first.members.length, second.members.length]).toEqual([2, 0])
      const assignments = cluster.group('g').members.map(({ assignment }) => assignment.toString())
      expect(assignments).toEqual(['half', 'other half'])
    }))

  test('a dynamic member that does not join again within the rebalance timeout is removed', () =>
    simulate(async (cluster, runtime) => {
      const [one, two] = (await clients(cluster, 2)) as [SimClient, SimClient]
      const straggler = await alone(one, { rebalanceTimeoutMs: 5_000, sessionTimeoutMs: 60_000 })
      const before = runtime.clock.monotonic()
      const joined = await two.joinAnew('g', { rebalanceTimeoutMs: 1_000 })
      expect(runtime.clock.monotonic() - before).toBeGreaterThanOrEqual(5_000)
      expect([joined.generationId, joined.members.length]).toEqual([2, 1])
      expect(await one.heartbeat('g', straggler)).toBe('UNKNOWN_MEMBER_ID')
    }))

  test('an assigned id that is never used delays a rebalance by a session', () =>
    simulate(async (cluster, runtime) => {
      const [one, two] = (await clients(cluster, 2)) as [SimClient, SimClient]
      const { memberId } = await alone(one)
      const unused = await two.join('g', '', { sessionTimeoutMs: 2_000 })
      const before = runtime.clock.monotonic()
      expect((await one.join('g', memberId)).generationId).toBe(2)
      expect(runtime.clock.monotonic() - before).toBeGreaterThanOrEqual(1_900)
      expect(errorName((await two.join('g', unused.memberId)).errorCode)).toBe('UNKNOWN_MEMBER_ID')
    }))

  test('members that join and never sync are removed after the rebalance timeout', () =>
    simulate(async (cluster, runtime) => {
      const [one, two] = (await clients(cluster, 2)) as [SimClient, SimClient]
      const first = await alone(one)
      const silent = two.joinAnew('g', { sessionTimeoutMs: 60_000, rebalanceTimeoutMs: 1_000 })
      while ((await one.heartbeat('g', first)) === 'NONE');
      const again = await one.join('g', first.memberId, { sessionTimeoutMs: 60_000, rebalanceTimeoutMs: 1_000 })
      await one.sync('g', again, { [again.memberId]: 'all' })
      await runtime.timers.sleep(900)
      expect(await one.heartbeat('g', again)).toBe('NONE')
      await runtime.timers.sleep(200)
      expect(await one.heartbeat('g', again)).toBe('REBALANCE_IN_PROGRESS')
      expect(await two.heartbeat('g', await silent)).toBe('UNKNOWN_MEMBER_ID')
    }))

  test('a member that retries a join whose response was lost gets the same generation', () =>
    simulate(async (cluster) => {
      const [one, two] = (await clients(cluster, 2)) as [SimClient, SimClient]
      const [first, second] = await couple(one, two)
      expect((await two.join('g', second.memberId)).generationId).toBe(2)
      expect(await one.heartbeat('g', first)).toBe('NONE')
    }))

  test.each([
    ['a follower that wants other topics', 1, { topics: ['u'] }],
    ['the leader, whatever it wants', 0, {}],
  ])('%s makes a stable group rebalance', (_who, index, options) =>
    simulate(async (cluster) => {
      const both = (await clients(cluster, 2)) as [SimClient, SimClient]
      const joined = await couple(...both)
      const waiting = both[index]?.join('g', joined[index]?.memberId ?? '', options)
      const other = 1 - index
      while ((await both[other]?.heartbeat('g', joined[other] as Joined)) === 'NONE');
      await both[other]?.join('g', joined[other]?.memberId ?? '')
      expect((await waiting)?.generationId).toBe(3)
    }),
  )

  test.each([
    ['with no protocol the others speak', 'INCONSISTENT_GROUP_PROTOCOL', '', { protocols: ['sticky'] }],
    ['with a session outside the bounds', 'INVALID_SESSION_TIMEOUT', '', { sessionTimeoutMs: 10 }],
    ['with an unknown id', 'UNKNOWN_MEMBER_ID', 'nobody', {}],
  ] as const)('%s is refused with %s', (_how, error, memberId, options) =>
    simulate(async (cluster) => {
      const [one, two] = (await clients(cluster, 2)) as [SimClient, SimClient]
      await alone(one)
      expect(errorName((await two.join('g', memberId, options)).errorCode)).toBe(error)
    }),
  )

  test('the protocol that most members prefer is chosen, among those all support', () =>
    simulate(async (cluster, runtime) => {
      const [one, two, three] = (await clients(cluster, 3)) as [SimClient, SimClient, SimClient]
      const first = { instanceId: 'a', protocols: ['x', 'y', 'z'] }
      const { memberId } = await one.join('g', '', first)
      const others = [
        two.join('g', '', { instanceId: 'b', protocols: ['z', 'y', 'x'] }),
        three.join('g', '', { instanceId: 'c', protocols: ['w', 'y', 'z'] }),
      ]
      await runtime.timers.sleep(10)
      const joins = await Promise.all([one.join('g', memberId, first), ...others])
      expect(joins.map(({ protocolName }) => protocolName)).toEqual(['y', 'y', 'y'])
    }))
})

describe('sessions', () => {
  test('a member that is silent for its session is removed, and the others must rejoin', () =>
    simulate(async (cluster, runtime) => {
      const [one, two] = (await clients(cluster, 2)) as [SimClient, SimClient]
      const [first, second] = await couple(one, two)
      for (let beat = 0; beat < 12; beat++) {
        await runtime.timers.sleep(1_000)
        await one.heartbeat('g', first)
      }
      expect(await one.heartbeat('g', first)).toBe('REBALANCE_IN_PROGRESS')
      expect(await two.heartbeat('g', second)).toBe('UNKNOWN_MEMBER_ID')
      expect((await one.join('g', first.memberId)).members).toHaveLength(1)
    }))

  test('commits keep a session alive while a rebalance is prepared', () =>
    simulate(async (cluster, runtime) => {
      const [one, two] = (await clients(cluster, 2)) as [SimClient, SimClient]
      const joined = await alone(one, { sessionTimeoutMs: 6_000, rebalanceTimeoutMs: 60_000 })
      const waiting = two.joinAnew('g')
      for (let commit = 0; commit < 8; commit++) {
        await runtime.timers.sleep(1_000)
        expect(await one.commit('g', joined, BigInt(commit))).toBe('NONE')
      }
      expect(cluster.group('g').state).toBe('PreparingRebalance')
      await one.join('g', joined.memberId)
      expect((await waiting).generationId).toBe(2)
    }))

  test('a member that waits for a join cannot be silent', () =>
    simulate(async (cluster, runtime) => {
      const [one, two, three] = (await clients(cluster, 3)) as [SimClient, SimClient, SimClient]
      const [first, second] = await couple(one, two)
      const third = three.joinAnew('g')
      while ((await two.heartbeat('g', second)) === 'NONE');
      const waiting = two.join('g', second.memberId)
      for (let beat = 0; beat < 20; beat++) {
        await runtime.timers.sleep(1_000)
        await one.heartbeat('g', first)
      }
      const again = await one.join('g', first.memberId)
      expect(again.members).toHaveLength(3)
      await Promise.all([waiting, third])
    }))
})

describe('heartbeats and commits', () => {
  test.each([
    ['an older generation', { generationId: 0 }, null, 'ILLEGAL_GENERATION'],
    ['an unknown member', { memberId: 'nobody' }, null, 'UNKNOWN_MEMBER_ID'],
    ['an unknown instance', {}, 'nobody', 'UNKNOWN_MEMBER_ID'],
  ] as const)('of %s are refused', (_who, change, groupInstanceId, error) =>
    simulate(async (cluster) => {
      const [client] = (await clients(cluster, 1)) as [SimClient]
      const joined = { ...(await alone(client)), ...change }
      expect(await client.heartbeat('g', joined, groupInstanceId)).toBe(error)
      expect(await client.commit('g', { ...joined, groupInstanceId }, 1n)).toBe(error)
      expect(await client.committed('g')).toBe(-1n)
    }),
  )

  test('commits of the last generation are accepted while the next is prepared, and refused while it is completed', () =>
    simulate(async (cluster) => {
      const [one, two] = (await clients(cluster, 2)) as [SimClient, SimClient]
      const first = await alone(one)
      const waiting = two.joinAnew('g')
      while ((await one.heartbeat('g', first)) === 'NONE');
      expect(await one.commit('g', first, 5n)).toBe('NONE')
      const again = await one.join('g', first.memberId)
      await waiting
      expect(await one.commit('g', first, 6n)).toBe('ILLEGAL_GENERATION')
      expect(await one.commit('g', again, 6n)).toBe('REBALANCE_IN_PROGRESS')
      expect(await one.heartbeat('g', again)).toBe('NONE')
      expect(await one.committed('g')).toBe(5n)
    }))

  test('a commit from outside is accepted only while the group has no members', () =>
    simulate(async (cluster) => {
      const [client] = (await clients(cluster, 1)) as [SimClient]
      expect(await client.commit('g', outsider, 1n)).toBe('NONE')
      await alone(client)
      expect(await client.commit('g', outsider, 2n)).toBe('UNKNOWN_MEMBER_ID')
    }))

  test('syncing while the next generation is prepared is refused', () =>
    simulate(async (cluster) => {
      const [client] = (await clients(cluster, 1)) as [SimClient]
      const joined = await alone(client)
      cluster.rebalance('g')
      expect((await client.sync('g', joined)).error).toBe('REBALANCE_IN_PROGRESS')
    }))
})

describe('static members', () => {
  test('come back under a new id into the same generation with the same assignment, unnoticed by the others', () =>
    simulate(async (cluster) => {
      const [one, two] = (await clients(cluster, 2)) as [SimClient, SimClient]
      const first = await one.join('g', '', { instanceId: 'a' })
      await one.sync('g', first, { [first.memberId]: 'all' }, 'a')
      const back = await two.join('g', '', { instanceId: 'a' })
      expect(back).toMatchObject({ errorCode: 0, generationId: 1, skipAssignment: true, leader: back.memberId })
      expect(back.memberId).not.toBe(first.memberId)
      expect(await two.sync('g', back, {}, 'a')).toEqual({ error: 'NONE', assignment: 'all' })
      expect(await one.heartbeat('g', first, 'a')).toBe('FENCED_INSTANCE_ID')
      expect(await one.heartbeat('g', first)).toBe('UNKNOWN_MEMBER_ID')
      expect(await one.commit('g', { ...first, groupInstanceId: 'a' }, 1n)).toBe('FENCED_INSTANCE_ID')
      expect(errorName((await one.join('g', first.memberId, { instanceId: 'a' })).errorCode)).toBe('FENCED_INSTANCE_ID')
    }))

  test('whose former self waits for a join end its wait with FENCED_INSTANCE_ID', () =>
    simulate(async (cluster) => {
      const [one, two, three] = (await clients(cluster, 3)) as [SimClient, SimClient, SimClient]
      await alone(one, { sessionTimeoutMs: 60_000 })
      const waiting = two.join('g', '', { instanceId: 'a' })
      void three.join('g', '', { instanceId: 'a' })
      expect(errorName((await waiting).errorCode)).toBe('FENCED_INSTANCE_ID')
    }))

  test('that do not join again are part of the next generation, and go when they do not sync either', () =>
    simulate(async (cluster, runtime) => {
      const [one, two] = (await clients(cluster, 2)) as [SimClient, SimClient]
      const lasting = { sessionTimeoutMs: 60_000, rebalanceTimeoutMs: 1_000 }
      await alone(one, { instanceId: 'a', ...lasting })
      const joined = await two.joinAnew('g', lasting)
      expect(joined.members.map(({ groupInstanceId }) => groupInstanceId)).toEqual(['a', null])
      await two.sync('g', joined, { [joined.memberId]: 'all' })
      expect(cluster.group('g').members).toHaveLength(2)
      await runtime.timers.sleep(1_000)
      expect(await two.heartbeat('g', joined)).toBe('REBALANCE_IN_PROGRESS')
      expect(cluster.group('g').members).toHaveLength(1)
    }))
})

describe('leaving', () => {
  test('removes the member at once, even a static one by its instance id alone; an unknown one gets an error', () =>
    simulate(async (cluster) => {
      const [client] = (await clients(cluster, 1)) as [SimClient]
      await alone(client, { instanceId: 'a' })
      const { errorCode, members } = await client.send('LeaveGroup', {
        groupId: 'g',
        members: [
          { memberId: '', groupInstanceId: 'a', reason: '' },
          { memberId: 'nobody', groupInstanceId: null, reason: '' },
        ],
      })
      expect([errorCode, ...members.map((member) => errorName(member.errorCode))]).toEqual([
        0,
        'NONE',
        'UNKNOWN_MEMBER_ID',
      ])
      expect(cluster.group('g')).toMatchObject({ state: 'Empty', generation: 2, members: [] })
    }))

  test('makes the others join again, and a leader that left is replaced', () =>
    simulate(async (cluster) => {
      const [one, two] = (await clients(cluster, 2)) as [SimClient, SimClient]
      const [first, second] = await couple(one, two)
      const members = [{ memberId: first.memberId, groupInstanceId: null, reason: '' }]
      await one.send('LeaveGroup', { groupId: 'g', members })
      expect(await two.heartbeat('g', second)).toBe('REBALANCE_IN_PROGRESS')
      expect(await two.join('g', second.memberId)).toMatchObject({ generationId: 3, leader: second.memberId })
    }))
})

describe('verbs', () => {
  test('rebalance makes a stable group join again', () =>
    simulate(async (cluster) => {
      const [client] = (await clients(cluster, 1)) as [SimClient]
      const joined = await alone(client)
      cluster.rebalance('g')
      expect(await client.heartbeat('g', joined)).toBe('REBALANCE_IN_PROGRESS')
      expect((await client.join('g', joined.memberId)).generationId).toBe(2)
    }))

  test('expireMember ends a session', () =>
    simulate(async (cluster) => {
      const [client] = (await clients(cluster, 1)) as [SimClient]
      const joined = await alone(client)
      cluster.expireMember('g', joined.memberId)
      expect(await client.heartbeat('g', joined)).toBe('UNKNOWN_MEMBER_ID')
      expect(() => cluster.expireMember('g', joined.memberId)).toThrow(/no member/)
    }))
})
