import { AuthenticationError, errorCode } from '@waybill/kafka/wire'
import { type Interceptor, RequestLog } from '@waybill/test-support/kafka'
import { describe, expect, test } from 'vitest'
import { KafkaError } from '../../../src/client/cluster/kafka-error.ts'
import type { KafkaRecord } from '../../../src/client/cluster/kafka-record.ts'
import type { OffsetCommit } from '../../../src/client/cluster/offset-commit.ts'
import type { TopicPartition } from '../../../src/client/cluster/topic-partition.ts'
import type { Consumer } from '../../../src/client/consume/consumer.ts'
import { encodeAssignment } from '../../../src/wire/api/consumer-protocol.ts'
import { type SimRun, simRun } from '../consume/sim-run.ts'

const never = (): Promise<void> => new Promise(() => {})

function next({ topic, partition, offset, epoch }: KafkaRecord): OffsetCommit {
  return { topic, partition, epoch, offset: offset + 1n }
}

async function first(consumer: Consumer): Promise<KafkaRecord> {
  for (;;) {
    const [record] = await consumer.poll(1, 1_000)
    if (record !== undefined) return record
  }
}

function memberOf({ sim }: SimRun, clientId: string): string {
  return sim.group('g').members.find((member) => member.clientId === clientId)?.memberId ?? ''
}

/** A leader that assigns partitions of unsubscribed topics. */
const givingTooMuch: Interceptor = async (api, _request, pass) => {
  const answer = await pass()
  if (api !== 'SyncGroup') return answer
  const assignment = encodeAssignment([
    { topic: 'mine', partitions: [0] },
    { topic: 'yours', partitions: [0] },
  ])
  return { ...answer, assignment }
}

describe('a group member', () => {
  test('fails once when its coordinator refuses the login, without a retry loop, and another member may start later', () => {
    const log = new RequestLog()
    let isRefused = true
    const intercept: Interceptor = async (api, request, pass) => {
      if (api !== 'JoinGroup') return pass()
      if (isRefused) return log.watch(api, request, () => Promise.reject(refusal))
      return pass()
    }
    const refusal = new AuthenticationError('The broker at sim:1 refuses the login.', 'NOT_SENT')
    return simRun(
      async ({ cluster, owning, sleep }) => {
        const topic = await cluster.createTopic('t')
        const reported: Error[] = []
        const options = { groupId: 'g', topics: [topic], onFatal: (error: Error) => void reported.push(error) }
        const consumer = cluster.consumer(options)
        await consumer.start()
        await sleep(60_000)
        const failure = { kind: 'FATAL', cause: refusal, message: expect.stringContaining('refuses the login') }
        await expect(consumer.poll(1, 0)).rejects.toMatchObject(failure)
        expect(reported).toMatchObject([failure])
        expect(log.of('JoinGroup')).toHaveLength(1)
        isRefused = false
        const successor = cluster.consumer(options)
        await successor.start()
        await owning(successor, 1)
      },
      { intercept },
    )
  })

  test('keeps its membership when its coordinator refuses a login temporarily, without a callback', () => {
    let isRefused = false
    const intercept: Interceptor = async (api, _request, pass) => {
      if (isRefused && (api === 'Heartbeat' || api === 'OffsetCommit')) throw new AuthenticationError('No.', 'NOT_SENT')
      return pass()
    }
    return simRun(
      async ({ cluster, sleep, owning }) => {
        const topic = await cluster.createTopic('t')
        await cluster.produce(topic, 0, ['a', 'b'])
        const lost: TopicPartition[] = []
        const consumer = cluster.consumer({
          groupId: 'g',
          topics: [topic],
          sessionTimeoutMs: 60_000,
          onLost: (partitions) => lost.push(...partitions),
        })
        await consumer.start()
        await owning(consumer, 1)
        const record = await first(consumer)
        isRefused = true
        await expect(consumer.commit([next(record)])).rejects.toMatchObject({ kind: 'FATAL' })
        await sleep(20_000)
        isRefused = false
        await sleep(20_000)
        await consumer.commit([next(record)])
        expect(lost).toEqual([])
      },
      { intercept },
    )
  })

  test('hands out and commits nothing while no heartbeat is acknowledged for a session, and continues after', () =>
    simRun(async ({ sim, cluster, runtime, sleep }) => {
      const topic = await cluster.createTopic('t')
      await cluster.produce(topic, 0, ['a', 'b', 'c'])
      const lost: TopicPartition[] = []
      const consumer = cluster.consumer({
        groupId: 'g',
        topics: [topic],
        sessionTimeoutMs: 3_000,
        onLost: (partitions) => lost.push(...partitions),
      })
      await consumer.start()
      const record = await first(consumer)
      // The coordinator hears of us; we do not hear of that.
      const drop = sim.dropResponses({ api: 'Heartbeat' })
      await sleep(4_000)
      expect(await consumer.poll(1, 500)).toEqual([])
      await expect(consumer.commit([next(record)])).rejects.toMatchObject({ kind: 'REBALANCING' })
      const polled = consumer.poll(1, 60_000)
      const revivedAt = runtime.clock.monotonic()
      drop[Symbol.dispose]()
      expect((await polled).map(({ offset }) => offset)).toEqual([1n])
      expect(runtime.clock.monotonic() - revivedAt).toBeLessThan(2_000)
      await consumer.commit([next(record)])
      expect(lost).toEqual([])
    }))

  test('commits nothing once it is expelled, calls onLost, and rejoins as a new member', () =>
    simRun(async (run) => {
      const { sim, cluster, eventually } = run
      const topic = await cluster.createTopic('t')
      await cluster.produce(topic, 0, ['a', 'b'])
      const lost: TopicPartition[] = []
      const consumer = cluster.consumer({
        groupId: 'g',
        topics: [topic],
        onLost: (partitions) => lost.push(...partitions),
      })
      await consumer.start()
      const record = await first(consumer)
      sim.expireMember('g', memberOf(run, 'consumer'))
      // It does not know yet, and asks.
      await expect(consumer.commit([next(record)])).rejects.toMatchObject({
        kind: 'REBALANCING',
        reason: 'UNKNOWN_MEMBER_ID',
      })
      expect(await consumer.confirmMembership()).toBe(false)
      await eventually(() => expect(lost).toEqual([{ topic, partition: 0 }]))
      expect(sim.group('g').offsets).toEqual([])
      const again = await first(consumer)
      expect([again.offset, again.epoch > record.epoch]).toEqual([0n, true])
      await expect(consumer.commit([next(record)])).rejects.toMatchObject({ kind: 'REBALANCING' })
      await consumer.commit([next(again)])
      expect(await consumer.confirmMembership()).toBe(true)
    }))

  test('does not wait for a drain once its place is lost', () =>
    simRun(async (run) => {
      const { sim, cluster, runtime, owning, eventually } = run
      const topic = await cluster.createTopic('t')
      const lost: TopicPartition[] = []
      let isDraining = false
      const consumer = cluster.consumer({
        groupId: 'g',
        topics: [topic],
        assignment: 'EAGER',
        drainDeadlineMs: 30_000,
        rebalanceTimeoutMs: 60_000,
        onRevoking: () => {
          isDraining = true
          return never()
        },
        onLost: (partitions) => lost.push(...partitions),
      })
      await consumer.start()
      await owning(consumer, 1)
      sim.rebalance('g')
      await eventually(() => expect(isDraining).toBe(true))
      const expelledAt = runtime.clock.monotonic()
      sim.expireMember('g', memberOf(run, 'consumer'))
      await eventually(() => expect(lost).toEqual([{ topic, partition: 0 }]))
      expect(runtime.clock.monotonic() - expelledAt).toBeLessThan(1_000)
    }))

  test('releases partitions at the drain deadline, and reports them as lost', () =>
    simRun(async ({ cluster, owning, eventually }) => {
      const topic = await cluster.createTopic('t', 2)
      const lost: TopicPartition[] = []
      const deadlines: number[] = []
      const options = { groupId: 'g', topics: [topic], drainDeadlineMs: 9_000, rebalanceTimeoutMs: 10_000 }
      const a = cluster.consumer({
        ...options,
        onRevoking: (_, deadlineMs) => {
          deadlines.push(deadlineMs)
          return never()
        },
        onLost: (partitions) => lost.push(...partitions),
      })
      await a.start()
      await owning(a, 2)
      const b = cluster.consumer(options)
      await b.start()
      await owning(b, 1)
      expect(lost).toHaveLength(1)
      // 0.6 of the rebalance timeout, so that the others do not wait for nothing.
      expect(deadlines[0]).toBeLessThanOrEqual(6_000)
      expect(deadlines[0]).toBeGreaterThan(5_900)
      await eventually(() => expect(a.assignment()).toHaveLength(1))
    }))

  test('sends heartbeats while partitions drain longer than a session', () =>
    simRun(async ({ sim, cluster, sleep, owning }) => {
      const topic = await cluster.createTopic('t')
      const options = { groupId: 'g', topics: [topic], sessionTimeoutMs: 2_000, rebalanceTimeoutMs: 30_000 }
      await cluster.produce(topic, 0, ['a'])
      let record: KafkaRecord | undefined
      const lost: TopicPartition[] = []
      const a = cluster.consumer({
        ...options,
        assignment: 'EAGER',
        drainDeadlineMs: 15_000,
        async onRevoking() {
          await sleep(8_000)
          if (record !== undefined) await a.commit([next(record)])
        },
        onLost: (partitions) => lost.push(...partitions),
      })
      await a.start()
      record = await first(a)
      const b = cluster.consumer({ ...options, assignment: 'EAGER' })
      await b.start()
      await sleep(12_000)
      expect(sim.group('g').offsets.map(({ offset }) => offset)).toEqual([1n])
      expect(lost).toEqual([])
      await owning(a.assignment().length === 1 ? a : b, 1)
    }))

  test('surfaces a commit between two generations as REBALANCING, and takes it again once that is over', () =>
    simRun(async ({ sim, cluster, sleep }) => {
      const topic = await cluster.createTopic('t', 2)
      await cluster.produce(topic, 0, ['a'])
      const consumer = cluster.consumer({ groupId: 'g', topics: [topic] })
      await consumer.start()
      const record = await first(consumer)
      const generation = consumer.groupMetadata().generationId
      // The group moves to the next generation, and stays between the two.
      const stall = sim.stall({ api: 'SyncGroup' })
      sim.rebalance('g')
      await sleep(1_000)
      expect(consumer.groupMetadata().generationId).toBe(generation + 1)
      await expect(consumer.commit([next(record)])).rejects.toMatchObject({
        kind: 'REBALANCING',
        reason: 'REBALANCE_IN_PROGRESS',
      })
      stall[Symbol.dispose]()
      await sleep(1_000)
      await consumer.commit([next(record)])
      expect(consumer.assignment().map(({ epoch }) => epoch)).toEqual([record.epoch, record.epoch])
    }))

  test('stops at once while it waits to join, and leaves no ghost behind', () =>
    simRun(async ({ sim, cluster, runtime, sleep, owning }) => {
      const topic = await cluster.createTopic('t')
      const options = { groupId: 'g', topics: [topic], assignment: 'EAGER', rebalanceTimeoutMs: 60_000 } as const
      const a = cluster.consumer({ ...options, drainDeadlineMs: 30_000, onRevoking: never }, 'a')
      await a.start()
      await owning(a, 1)
      const b = cluster.consumer(options, 'b')
      await b.start()
      await sleep(1_000)
      const stoppedAt = runtime.clock.monotonic()
      await b.stop()
      expect(runtime.clock.monotonic() - stoppedAt).toBeLessThan(500)
      expect(sim.group('g').members.map(({ clientId }) => clientId)).toEqual(['a'])
    }))

  test.each(['before its coordinator has the join', 'while its join waits for others', 'when the response is lost'])(
    'leaves no static ghost behind when it stops without a response to its join: %s',
    (moment) =>
      simRun(async ({ sim, cluster, runtime, sleep, owning }) => {
        const topic = await cluster.createTopic('t')
        const options = { groupId: 'g', topics: [topic], assignment: 'EAGER', rebalanceTimeoutMs: 60_000 } as const
        if (moment === 'while its join waits for others') {
          const a = cluster.consumer({ ...options, drainDeadlineMs: 30_000, onRevoking: never }, 'a')
          await a.start()
          await owning(a, 1)
        }
        const b = cluster.consumer({ ...options, instanceId: 'b' }, 'b')
        const stall = sim.stall({ api: moment.startsWith('before') ? 'JoinGroup' : 'CreateTopics', client: 'b' })
        const drop = sim.dropResponses({ api: moment.endsWith('lost') ? 'JoinGroup' : 'CreateTopics', client: 'b' })
        await b.start()
        await sleep(1_000)
        runtime.timers.schedule(200, () => stall[Symbol.dispose]())
        const stoppedAt = runtime.clock.monotonic()
        await b.stop({ leave: true, deadlineMs: 10_000 })
        expect(runtime.clock.monotonic() - stoppedAt).toBeLessThan(1_000)
        drop[Symbol.dispose]()
        await sleep(1_000)
        expect(sim.group('g').members.map(({ clientId }) => clientId)).not.toContain('b')
      }),
  )

  test('expels no other holder of its instance id when it stops before its first join', () =>
    simRun(async ({ sim, cluster, owning }) => {
      const topic = await cluster.createTopic('t')
      const options = { groupId: 'g', topics: [topic], instanceId: 'same' }
      const holder = cluster.consumer(options, 'holder')
      await holder.start()
      await owning(holder, 1)
      const stall = sim.stall({ api: 'DescribeGroups', client: 'other' })
      const other = cluster.consumer(options, 'other')
      await other.start()
      await other.stop({ leave: true })
      stall[Symbol.dispose]()
      expect(sim.group('g').members.map(({ clientId }) => clientId)).toEqual(['holder'])
    }))

  test('stops at once while it starts, and before it starts', () =>
    simRun(async ({ sim, cluster }) => {
      const topic = await cluster.createTopic('t')
      const stall = sim.stall({ api: 'Metadata', client: 'slow' })
      const slow = cluster.consumer({ groupId: 'g', topics: [topic] }, 'slow')
      const starting = slow.start()
      await slow.stop()
      stall[Symbol.dispose]()
      await expect(starting).rejects.toMatchObject({ code: 'WAYBILL_STATE_INVALID' })
      const unused = cluster.consumer({ groupId: 'g', topics: [topic] })
      await unused.stop()
      await expect(unused.start()).rejects.toMatchObject({ code: 'WAYBILL_STATE_INVALID' })
      await expect(unused.poll(1, 1)).rejects.toMatchObject({ code: 'WAYBILL_STATE_INVALID' })
    }))

  test('finishes the generation it is entering before it stops, so that its last commit is taken', () =>
    simRun(async ({ sim, cluster, sleep }) => {
      const topic = await cluster.createTopic('t')
      await cluster.produce(topic, 0, ['a'])
      let record: KafkaRecord | undefined
      const refused: unknown[] = []
      const consumer = cluster.consumer({
        groupId: 'g',
        topics: [topic],
        async onRevoking() {
          await consumer.commit([next(record as KafkaRecord)]).catch((error: unknown) => refused.push(error))
        },
      })
      await consumer.start()
      record = await first(consumer)
      const stall = sim.stall({ api: 'SyncGroup' })
      sim.rebalance('g')
      await sleep(1_000)
      const stopped = consumer.stop({ deadlineMs: 10_000 })
      await sleep(2_000)
      stall[Symbol.dispose]()
      await stopped
      expect(refused).toEqual([])
      expect(sim.group('g').offsets.map(({ offset }) => offset)).toEqual([1n])
    }))

  test('continues when onLost or onRevoking throws', () =>
    simRun(async (run) => {
      const { sim, cluster, logger, owning, eventually } = run
      const topic = await cluster.createTopic('t')
      const consumer = cluster.consumer({
        groupId: 'g',
        topics: [topic],
        assignment: 'EAGER',
        onRevoking: () => Promise.reject(new Error('cannot drain')),
        onLost: () => {
          throw new Error('cannot lose')
        },
      })
      await consumer.start()
      await owning(consumer, 1)
      const epochs = [consumer.assignment()[0]?.epoch]
      sim.rebalance('g')
      await eventually(() => expect(consumer.assignment()[0]?.epoch).toBe(2))
      await owning(consumer, 1)
      sim.expireMember('g', memberOf(run, 'consumer'))
      await eventually(() => expect(consumer.assignment()[0]?.epoch).toBe(3))
      expect(epochs).toEqual([1])
      const texts = logger.lines.flatMap(({ fields }) =>
        fields['err'] instanceof Error ? [fields['err'].message] : [],
      )
      expect(texts).toEqual(expect.arrayContaining(['cannot drain', 'cannot lose']))
    }))

  test('ends when its user cannot take partitions, and lets others have them', () =>
    simRun(async ({ cluster, owning, eventually }) => {
      const topic = await cluster.createTopic('t')
      const fatal: Error[] = []
      const consumer = cluster.consumer({
        groupId: 'g',
        topics: [topic],
        onAssigned: () => Promise.reject(new Error('no database')),
        onFatal: (error) => fatal.push(error),
      })
      await consumer.start()
      const polled = consumer.poll(1, 60_000)
      await expect(polled).rejects.toThrow('no database')
      expect(fatal).toHaveLength(1)
      const other = cluster.consumer({ groupId: 'g', topics: [topic] })
      await other.start()
      await owning(other, 1)
      await eventually(() => expect(consumer.assignment()).toEqual([]))
      await consumer.stop()
    }))

  test('ends when the group speaks another protocol', () =>
    simRun(async ({ cluster, owning, eventually }) => {
      const topic = await cluster.createTopic('t')
      const a = cluster.consumer({ groupId: 'g', topics: [topic], assignment: 'EAGER' })
      await a.start()
      await owning(a, 1)
      const fatal: Error[] = []
      const b = cluster.consumer({ groupId: 'g', topics: [topic], onFatal: (error) => fatal.push(error) })
      await b.start()
      await eventually(() => expect(fatal).toHaveLength(1))
      expect(fatal[0]).toMatchObject({ kind: 'FATAL', reason: 'INCONSISTENT_GROUP_PROTOCOL' })
      await expect(b.poll(1, 0)).rejects.toBe(fatal[0])
    }))

  test('tries again when the leader cannot learn of the topics, or the coordinator moves', () =>
    simRun(
      async ({ sim, cluster, owning, sleep }) => {
        const topic = await cluster.createTopic('t', 4)
        const a = cluster.consumer({ groupId: 'g', topics: [topic], requestTimeoutMs: 1_000 })
        await a.start()
        const drop = sim.dropResponses({ api: 'Metadata', client: 'consumer' })
        await sleep(3_000)
        drop[Symbol.dispose]()
        await owning(a, 4)
        for (const node of [2, 3, 1]) {
          sim.moveCoordinator('GROUP', 'g', node)
          await sleep(2_000)
          expect(await a.confirmMembership()).toBe(true)
        }
        await owning(a, 4)
      },
      { brokers: 3 },
    ))

  test('assigns over the union of the topics, each member getting only what it asked for', () =>
    simRun(async ({ cluster, owning }) => {
      const one = await cluster.createTopic('one', 2)
      const two = await cluster.createTopic('two', 3)
      const a = cluster.consumer({ groupId: 'g', topics: [one] })
      await a.start()
      await owning(a, 2)
      const b = cluster.consumer({ groupId: 'g', topics: [two] })
      await b.start()
      await owning(b, 3)
      expect(new Set(a.assignment().map(({ topic }) => topic))).toEqual(new Set([one]))
      expect(new Set(b.assignment().map(({ topic }) => topic))).toEqual(new Set([two]))
    }))

  test('notices as a static leader the partitions that were added while it was away', () =>
    simRun(async ({ cluster, owning, eventually }) => {
      const topic = await cluster.createTopic('t', 2)
      const options = { groupId: 'g', topics: [topic], instanceId: 'leader', sessionTimeoutMs: 30_000 }
      const a = cluster.consumer(options)
      await a.start()
      await owning(a, 2)
      await a.stop()
      await cluster.addPartitions(topic, 5)
      const again = cluster.consumer(options)
      await again.start()
      await eventually(() => expect(again.assignment()).toHaveLength(5))
    }))

  test('shares out in the end what a static member was to give back when it restarted', () =>
    simRun(async ({ cluster, owning, eventually }) => {
      const topic = await cluster.createTopic('t', 4)
      const up = async (instanceId: string, onRevoking?: () => Promise<void>): Promise<Consumer> => {
        const options = { groupId: 'g', topics: [topic], instanceId, sessionTimeoutMs: 60_000 }
        const consumer = cluster.consumer({ ...options, ...(onRevoking === undefined ? {} : { onRevoking }) })
        await consumer.start()
        return consumer
      }
      let isDraining = false
      const leader = await up('z')
      await owning(leader, 4)
      const holder = await up('b', () => {
        isDraining = true
        return never()
      })
      await owning(holder, 2)
      const newcomer = await up('c')
      await eventually(() => expect(isDraining).toBe(true))
      // It comes back with what it was to keep, and knows of nothing to give back.
      await holder.stop({ deadlineMs: 100 })
      const again = await up('b')
      await owning(again, 1)
      await owning(newcomer, 1)
      await owning(leader, 2)
    }))

  test.each([
    ['JoinGroup', errorCode.MEMBER_ID_REQUIRED],
    ['SyncGroup', errorCode.REBALANCE_IN_PROGRESS],
    ['JoinGroup', errorCode.REBALANCE_IN_PROGRESS],
  ] as const)('does not storm a coordinator that answers every %s with %i', async (refused, code) => {
    let count = 0
    const intercept: Interceptor = async (api, _request, pass) => {
      const answer = await pass()
      if (api !== refused) return answer
      count++
      return { ...answer, errorCode: code }
    }
    await simRun(
      async ({ cluster, sleep }) => {
        const topic = await cluster.createTopic('t')
        await cluster.consumer({ groupId: 'g', topics: [topic] }).start()
        await sleep(10_000)
        expect(count).toBeGreaterThan(5)
        expect(count).toBeLessThan(30)
      },
      { intercept },
    )
  })

  test('takes nothing of a topic that it has not asked for, whatever its leader gives it', () => {
    return simRun(
      async ({ cluster, owning, logger }) => {
        await cluster.createTopic('yours')
        const consumer = cluster.consumer({ groupId: 'g', topics: [await cluster.createTopic('mine')] })
        await consumer.start()
        await owning(consumer, 1)
        expect(consumer.assignment().map(({ topic }) => topic)).toEqual(['mine'])
        expect(logger.lines.some(({ text }) => text.includes('Partitions of unsubscribed topics ignored'))).toBe(true)
      },
      { intercept: givingTooMuch },
    )
  })

  test('does not read a member that sends nonsense for the end of the group', () => {
    const log = new RequestLog()
    return simRun(
      async ({ sim, cluster, owning, sleep, logger }) => {
        const topic = await cluster.createTopic('t', 2)
        const a = cluster.consumer({ groupId: 'g', topics: [topic] })
        await a.start()
        await owning(a, 2)
        const connection = await sim.transport('stranger').connect({ host: 'sim', port: 1 }, 'stranger')
        const join = { ...log.of('JoinGroup').at(-1), memberId: '' } as ReturnType<typeof log.of<'JoinGroup'>>[number]
        const protocols = [{ name: 'cooperative-sticky', metadata: Buffer.from([0, 9, 255, 255]) }]
        const { memberId } = await connection.send('JoinGroup', { ...join, protocols })
        void connection.send('JoinGroup', { ...join, memberId, protocols }).catch(() => {})
        await sleep(3_000)
        await owning(a, 2)
        expect(logger.lines.some(({ text }) => text.includes('without a readable subscription'))).toBe(true)
        connection.close()
      },
      { intercept: log.watch },
    )
  })

  test('does not give up its membership for a heartbeat that is refused in passing', () =>
    simRun(async ({ sim, cluster, owning, sleep }) => {
      const topic = await cluster.createTopic('t')
      const lost: TopicPartition[] = []
      const consumer = cluster.consumer({ groupId: 'g', topics: [topic], onLost: (all) => lost.push(...all) })
      await consumer.start()
      await owning(consumer, 1)
      for (const code of [
        errorCode.COORDINATOR_NOT_AVAILABLE,
        errorCode.NOT_COORDINATOR,
        errorCode.UNKNOWN_SERVER_ERROR,
      ]) {
        sim.failNext('Heartbeat', code)
        await sleep(1_000)
      }
      expect(lost).toEqual([])
      expect(await consumer.confirmMembership()).toBe(true)
    }))

  test('does not take an answer to its former generation for one to the present', () => {
    const held: (() => void)[] = []
    let isHolding = false
    const intercept: Interceptor = async (api, _request, pass) => {
      const answer = await pass()
      if (api !== 'Heartbeat' || !isHolding) return answer
      isHolding = false
      await new Promise<void>((release) => held.push(release))
      return { errorCode: errorCode.UNKNOWN_MEMBER_ID } as typeof answer
    }
    return simRun(
      async ({ cluster, owning, sleep, eventually }) => {
        const topic = await cluster.createTopic('t', 2)
        const lost: TopicPartition[] = []
        const options = { groupId: 'g', topics: [topic], heartbeatIntervalMs: 500, sessionTimeoutMs: 30_000 }
        const a = cluster.consumer({ ...options, onLost: (all) => lost.push(...all) })
        await a.start()
        await owning(a, 2)
        // A heartbeat is answered late, after the group has assigned new partitions: its answer is outdated.
        isHolding = true
        await eventually(() => expect(held).toHaveLength(1))
        await cluster.addPartitions(topic, 3)
        await owning(a, 3)
        for (const release of held) release()
        await sleep(2_000)
        expect(lost).toEqual([])
      },
      { intercept },
    )
  })

  test('says that it has no place before it has one', () =>
    simRun(async ({ cluster }) => {
      const topic = await cluster.createTopic('t')
      const consumer = cluster.consumer({ groupId: 'g', topics: [topic] })
      expect(() => consumer.groupMetadata()).toThrow(KafkaError)
      await consumer.start()
      await expect(consumer.commit([{ topic, partition: 0, epoch: 0, offset: 1n }])).rejects.toMatchObject({
        kind: 'REBALANCING',
      })
    }))
})
