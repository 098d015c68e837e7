import { ArgumentError } from '@waybill/core'
import { eventually } from '@waybill/testkit'
import { expect } from 'vitest'
import { KafkaError } from '../../../src/client/cluster/kafka-error.ts'
import type { KafkaRecord } from '../../../src/client/cluster/kafka-record.ts'
import type { TopicPartition } from '../../../src/client/cluster/topic-partition.ts'
import type { Consumer } from '../../../src/client/consume/consumer.ts'
import type { ConsumerOptions } from '../../../src/client/consume/consumer-options.ts'
import type { PositionLoss } from '../../../src/client/consume/position-loss.ts'
import type { GroupRebalance } from '../../../src/client/group/group-rebalance.ts'
import type { TestCluster } from './test-cluster.ts'
import { Journal, Worker } from './worker.ts'

/** Behavior of a consumer on any cluster, simulated or real. */
export interface Behaviour {
  readonly title: string
  readonly run: (cluster: TestCluster) => Promise<void>
}

const texts = (count: number, name = 'r'): string[] => Array.from({ length: count }, (_, index) => `${name}${index}`)

/** Polls until it has `count` records, or no more come. */
async function take(consumer: Consumer, count: number, timeoutMs = 10_000): Promise<KafkaRecord[]> {
  const records: KafkaRecord[] = []
  while (records.length < count) {
    const polled = await consumer.poll(count - records.length, timeoutMs)
    if (polled.length === 0) break
    records.push(...polled)
  }
  return records
}

const places = (records: readonly KafkaRecord[]): string[] =>
  records.map(({ partition, offset }) => `${partition}:${offset}`)
const valuesOf = (records: readonly KafkaRecord[]): string[] => records.map(({ value }) => String(value))
const commitOf = ({ topic, partition, offset, epoch }: KafkaRecord, metadata?: string) => ({
  topic,
  partition,
  epoch,
  offset: offset + 1n,
  ...(metadata === undefined ? {} : { metadata }),
})

const partitionsOf = (consumer: Consumer, of: string): number[] =>
  consumer
    .assignment()
    .flatMap(({ topic, partition }) => (topic === of ? [partition] : []))
    .toSorted((one, other) => one - other)

async function owning(cluster: TestCluster, consumer: Consumer, count: number): Promise<void> {
  // Owned and announced: only then is there anything to release.
  const isReady = (partition: TopicPartition): boolean => consumer.position(partition) !== undefined
  await eventually(() => expect(consumer.assignment().filter(isReady)).toHaveLength(count), {
    runtime: cluster.runtime,
  })
}

async function started(
  cluster: TestCluster,
  options: Pick<ConsumerOptions, 'groupId' | 'topics'> & Partial<ConsumerOptions>,
  client?: string,
): Promise<Consumer> {
  const consumer = cluster.consumer(options, client)
  await consumer.start()
  return consumer
}

/** Writes continuously until stopped, and returns the number of records. */
function load(cluster: TestCluster, topic: string, partitions: number): () => Promise<number> {
  let count = 0
  const over = new AbortController()
  const running = (async () => {
    while (!over.signal.aborted) {
      for (let partition = 0; partition < partitions; partition++) {
        await cluster.produce(topic, partition, texts(5))
        count += 5
      }
      await cluster.runtime.timers.sleep(10)
    }
  })()
  return async () => {
    over.abort()
    await running
    return count
  }
}

async function membersComeAndGo(cluster: TestCluster, assignment: 'EAGER' | 'COOPERATIVE'): Promise<void> {
  const topic = await cluster.createTopic('moving', 6)
  const groupId = cluster.place.named('moving')
  const journal = new Journal()
  const up = (name: string) => new Worker(cluster, name, journal, { groupId, topics: [topic], assignment }).start()
  const pause = (ms: number) => cluster.runtime.timers.sleep(ms)
  const stopLoad = load(cluster, topic, 6)
  const a = await up('a')
  await pause(500)
  const b = await up('b')
  await pause(700)
  const [c, d] = await Promise.all([up('c'), up('d')])
  await pause(900)
  await b.stop()
  const e = await up('e')
  await pause(700)
  await Promise.all([a.stop(), c.stop()])
  await pause(500)
  const produced = await stopLoad()
  await eventually(() => expect(journal.handled.size).toBe(produced), { runtime: cluster.runtime })
  await Promise.all([d.stop(), e.stop()])
  expect(journal.duplicates).toEqual([])
  for (const worker of [a, b, c, d, e]) {
    expect(worker.lost).toEqual([])
    expect(worker.fatal).toEqual([])
    for (const { kind } of worker.commitErrors) expect(kind).toBe('REBALANCING')
  }
  const committed = await cluster.committed(groupId, topic)
  expect([...committed.values()].reduce((sum, offset) => sum + offset, 0n)).toBe(BigInt(produced))
}

async function goesOnAfterRetention(
  cluster: TestCluster,
  startFrom: 'EARLIEST' | 'LATEST' | 'ERROR',
  continuesAt: bigint | null,
): Promise<void> {
  const topic = await cluster.createTopic('retention', 2)
  await cluster.produce(topic, 0, texts(10))
  await cluster.produce(topic, 1, texts(1, 'other'))
  const losses: PositionLoss[] = []
  const groupId = cluster.place.named('retention')
  const options = { groupId, topics: [topic], startFrom, onPositionLost: (loss: PositionLoss) => losses.push(loss) }
  const first = await started(cluster, { ...options, startFrom: 'EARLIEST' })
  const records = await take(first, 11)
  const third = records.find(({ partition, offset }) => partition === 0 && offset === 2n) as KafkaRecord
  const other = records.find(({ partition }) => partition === 1) as KafkaRecord
  await first.commit([commitOf(third), commitOf(other)])
  await first.stop()
  await cluster.deleteRecords(topic, 0, 7n)
  const second = await started(cluster, options)
  await eventually(() => expect(losses).toHaveLength(1), { runtime: cluster.runtime })
  expect(losses[0]).toEqual({ topic, partition: 0, cause: 'OUT_OF_RANGE', expected: 3n, continuesAt })
  await cluster.produce(topic, 0, ['new'])
  await cluster.produce(topic, 1, ['beside'])
  const next = await take(second, startFrom === 'EARLIEST' ? 5 : startFrom === 'LATEST' ? 2 : 1)
  expect(places(next.filter(({ partition }) => partition === 1))).toEqual(['1:1'])
  if (startFrom === 'EARLIEST')
    expect(places(next.filter(({ partition }) => partition === 0))).toEqual(['0:7', '0:8', '0:9', '0:10'])
  if (startFrom === 'LATEST') expect(places(next.filter(({ partition }) => partition === 0))).toEqual(['0:10'])
  if (startFrom === 'ERROR') {
    expect(next.filter(({ partition }) => partition === 0)).toEqual([])
    second.seek({ topic, partition: 0 }, 8n)
    expect(places(await take(second, 3))).toEqual(['0:8', '0:9', '0:10'])
  }
}

/** Every behaviour, each with topics and groups of its own. */
export const consumerBehaviours: readonly Behaviour[] = [
  {
    title: 'reads what is there and what comes, in order, with the epoch of the assignment',
    async run(cluster) {
      const topic = await cluster.createTopic('read', 2)
      await cluster.produce(topic, 0, texts(5, 'a'))
      const assigned: number[] = []
      const consumer = await started(cluster, {
        groupId: cluster.place.named('read'),
        topics: [topic],
        onAssigned: async (_, epoch) => void assigned.push(epoch),
      })
      const first = await take(consumer, 5)
      expect(valuesOf(first)).toEqual(texts(5, 'a'))
      await cluster.produce(topic, 1, texts(3, 'b'))
      const second = await take(consumer, 3)
      expect(valuesOf(second)).toEqual(texts(3, 'b'))
      expect(new Set([...first, ...second].map(({ epoch }) => epoch))).toEqual(new Set(assigned))
      expect(consumer.position({ topic, partition: 0 })).toBe(5n)
      expect(consumer.position({ topic, partition: 9 })).toBeUndefined()
    },
  },
  {
    title: 'continues at the committed offset of the group, and returns its metadata',
    async run(cluster) {
      const topic = await cluster.createTopic('resume')
      const groupId = cluster.place.named('resume')
      await cluster.produce(topic, 0, texts(10))
      const first = await started(cluster, { groupId, topics: [topic] })
      const records = await take(first, 4)
      expect(await first.committed([{ topic, partition: 0 }])).toEqual([
        { topic, partition: 0, offset: null, metadata: null },
      ])
      await first.commit([commitOf(records.at(-1) as KafkaRecord, 'four')])
      expect(await first.committed([{ topic, partition: 0 }])).toMatchObject([
        { topic, partition: 0, offset: 4n, metadata: 'four' },
      ])
      await first.stop()
      const second = await started(cluster, { groupId, topics: [topic] })
      expect(valuesOf(await take(second, 6))).toEqual(texts(10).slice(4))
    },
  },
  {
    title: 'gives partitions back only when they are drained and committed, members coming and going (eager)',
    run: (cluster) => membersComeAndGo(cluster, 'EAGER'),
  },
  {
    title: 'gives partitions back only when they are drained and committed, members coming and going (cooperative)',
    run: (cluster) => membersComeAndGo(cluster, 'COOPERATIVE'),
  },
  {
    title: 'moves a partition to a new member without waiting for the heartbeat interval',
    async run(cluster) {
      const topic = await cluster.createTopic('hurried', 2)
      const slow = { heartbeatIntervalMs: 300_000, sessionTimeoutMs: 900_000, rebalanceTimeoutMs: 60_000 }
      const options = { groupId: cluster.place.named('hurried'), topics: [topic], ...slow }
      const rebalances: GroupRebalance[] = []
      const a = await started(cluster, { ...options, onRebalance: (one) => void rebalances.push(one) }, 'a')
      await owning(cluster, a, 2)
      const b = await started(cluster, options, 'b')
      const isMoved = (): void => {
        expect([a, b].map((one) => partitionsOf(one, topic).length)).toEqual([1, 1])
        expect(b.position({ topic, partition: partitionsOf(b, topic)[0] as number })).toBeDefined()
      }
      await eventually(isMoved, { runtime: cluster.runtime, deadlineMs: 25_000 })
      // It joined alone, released a partition in the next generation, and its new owner received it in the third.
      const [first, ...later] = rebalances.map((one) => (one.outcome === 'COMPLETED' ? one.generation : one.why))
      expect(later).toEqual([Number(first) + 1, Number(first) + 2])
    },
  },
  {
    title: 'pauses, resumes and seeks under load with much fetched ahead, and skips nothing',
    async run(cluster) {
      const topic = await cluster.createTopic('control', 3)
      for (let partition = 0; partition < 3; partition++) await cluster.produce(topic, partition, texts(200))
      const consumer = await started(cluster, { groupId: cluster.place.named('control'), topics: [topic] })
      await owning(cluster, consumer, 3)
      const next = new Map([0, 1, 2].map((partition) => [partition, 0n]))
      const seen = new Map([0, 1, 2].map((partition) => [partition, 0]))
      const paused = new Set<number>()
      for (let turn = 0; [...next.values()].some((offset) => offset < 200n); turn++) {
        for (const { partition, offset } of await consumer.poll(7, 50)) {
          expect(paused.has(partition)).toBe(false)
          expect(offset).toBe(next.get(partition))
          next.set(partition, offset + 1n)
          seen.set(partition, (seen.get(partition) ?? 0) + 1)
        }
        const one = { topic, partition: turn % 3 }
        if (paused.delete(one.partition)) consumer.resume([one])
        else if (turn % 4 === 0 && paused.size < 2) {
          paused.add(one.partition)
          consumer.pause([one])
        } else if (turn % 11 === 0 && turn < 60) {
          next.set(one.partition, (next.get(one.partition) ?? 0n) / 2n)
          consumer.seek(one, next.get(one.partition) as bigint)
        }
        expect(consumer.position(one)).toBe(next.get(one.partition))
      }
      expect([...seen.values()].every((count) => count >= 200)).toBe(true)
    },
  },
  {
    title: 'does not let a paused partition keep the others from being fetched',
    async run(cluster) {
      const topic = await cluster.createTopic('hoard', 2)
      await cluster.produce(topic, 0, texts(100, 'x'.repeat(100)))
      const consumer = await started(cluster, {
        groupId: cluster.place.named('hoard'),
        topics: [topic],
        prefetchBytes: 2_000,
        prefetchRecords: 10,
      })
      await take(consumer, 5)
      consumer.pause([{ topic, partition: 0 }])
      await cluster.produce(topic, 1, texts(5, 'b'))
      expect(valuesOf(await take(consumer, 5))).toEqual(texts(5, 'b'))
      consumer.resume([{ topic, partition: 0 }])
      expect(places(await take(consumer, 95))[0]).toBe('0:5')
    },
  },
  {
    title: 'refuses a commit of an assignment that is over, without asking the coordinator',
    async run(cluster) {
      const topic = await cluster.createTopic('stale')
      await cluster.produce(topic, 0, texts(3))
      const consumer = await started(cluster, { groupId: cluster.place.named('stale'), topics: [topic] })
      const [record] = await take(consumer, 1)
      const stale = { ...commitOf(record as KafkaRecord), epoch: (record as KafkaRecord).epoch - 1 }
      await expect(consumer.commit([stale])).rejects.toMatchObject({ kind: 'REBALANCING' })
      const elsewhere = { ...commitOf(record as KafkaRecord), partition: 7 }
      const mixed = consumer.commit([commitOf(record as KafkaRecord), elsewhere])
      const error = await mixed.then(
        () => undefined,
        (thrown: unknown) => thrown,
      )
      expect(error).toBeInstanceOf(KafkaError)
      expect((error as { outcomes: { kind: string }[] }).outcomes.map(({ kind }) => kind).toSorted()).toEqual([
        'COMMITTED',
        'REBALANCING',
      ])
    },
  },
  {
    title: 'surfaces what the coordinator refuses',
    async run(cluster) {
      const topic = await cluster.createTopic('refused')
      await cluster.produce(topic, 0, texts(1))
      const consumer = await started(cluster, { groupId: cluster.place.named('refused'), topics: [topic] })
      const [record] = await take(consumer, 1)
      const tooLarge = commitOf(record as KafkaRecord, 'x'.repeat(4_097))
      await expect(consumer.commit([tooLarge])).rejects.toMatchObject({
        kind: 'FATAL',
        reason: 'OFFSET_METADATA_TOO_LARGE',
      })
      await consumer.commit([commitOf(record as KafkaRecord, 'x'.repeat(4_096))])
    },
  },
  {
    title: 'commits what is settled when it is stopped while it owns partitions',
    async run(cluster) {
      const topic = await cluster.createTopic('close', 2)
      const groupId = cluster.place.named('close')
      await cluster.produce(topic, 0, texts(20))
      await cluster.produce(topic, 1, texts(20))
      const records: KafkaRecord[] = []
      const revoked: TopicPartition[] = []
      const consumer = cluster.consumer({
        groupId,
        topics: [topic],
        async onRevoking(partitions) {
          revoked.push(...partitions)
          const last = [0, 1].flatMap((partition) => records.findLast((one) => one.partition === partition) ?? [])
          await consumer.commit(last.map((record) => commitOf(record)))
        },
      })
      await consumer.start()
      records.push(...(await take(consumer, 40)))
      await consumer.stop()
      expect(revoked).toHaveLength(2)
      expect(await cluster.committed(groupId, topic)).toEqual(
        new Map([
          [0, 20n],
          [1, 20n],
        ]),
      )
      await expect(consumer.poll(1, 0)).rejects.toMatchObject({ code: 'WAYBILL_STATE_INVALID' })
      await expect(consumer.commit([commitOf(records[0] as KafkaRecord)])).rejects.toMatchObject({
        kind: 'REBALANCING',
      })
      expect(() => consumer.groupMetadata()).toThrow(KafkaError)
    },
  },
  {
    title: 'ends a waiting poll at once when it is stopped',
    async run(cluster) {
      const topic = await cluster.createTopic('waiting')
      const consumer = await started(cluster, { groupId: cluster.place.named('waiting'), topics: [topic] })
      await owning(cluster, consumer, 1)
      const polled = consumer.poll(1, 3_600_000)
      await consumer.stop()
      expect(await polled).toEqual([])
    },
  },
  {
    title: 'stops by its deadline although a handler hangs, reports the partitions as lost, and leaves the group',
    async run(cluster) {
      const topic = await cluster.createTopic('hanging')
      const groupId = cluster.place.named('hanging')
      const lost: TopicPartition[] = []
      const consumer = await started(cluster, {
        groupId,
        topics: [topic],
        sessionTimeoutMs: 30_000,
        onRevoking: () => new Promise<void>(() => {}),
        onLost: (partitions) => lost.push(...partitions),
      })
      await owning(cluster, consumer, 1)
      const startedAt = cluster.runtime.clock.monotonic()
      await consumer.stop({ deadlineMs: 1_000 })
      expect(lost).toEqual([{ topic, partition: 0 }])
      expect(consumer.assignment()).toEqual([])
      const next = await started(cluster, { groupId, topics: [topic] })
      await owning(cluster, next, 1)
      // Far below the session: the coordinator did not have to find out by itself.
      expect(cluster.runtime.clock.monotonic() - startedAt).toBeLessThan(25_000)
    },
  },
  {
    title: 'keeps its partitions through a restart of a static member, without a rebalance of the others',
    async run(cluster) {
      const topic = await cluster.createTopic('static', 4)
      const groupId = cluster.place.named('static')
      await cluster.produce(topic, 0, texts(3))
      const revoked: string[] = []
      const options = (instanceId: string) => ({
        groupId,
        topics: [topic],
        instanceId,
        sessionTimeoutMs: 20_000,
        onRevoking: async () => void revoked.push(instanceId),
      })
      const a = await started(cluster, options('a'))
      const b = await started(cluster, options('b'))
      await owning(cluster, b, 2)
      await owning(cluster, a, 2)
      revoked.length = 0
      const generation = b.groupMetadata().generationId
      const mine = a.assignment().map(({ partition }) => partition)
      await a.stop()
      const again = await started(cluster, options('a'))
      await owning(cluster, again, 2)
      expect(again.assignment().map(({ partition }) => partition)).toEqual(mine)
      expect(again.groupMetadata().generationId).toBe(generation)
      expect(b.groupMetadata().generationId).toBe(generation)
      expect(revoked).toEqual(['a'])
    },
  },
  {
    title: 'leaves the group as a static member if requested',
    async run(cluster) {
      const topic = await cluster.createTopic('leave', 2)
      const groupId = cluster.place.named('leave')
      const options = { groupId, topics: [topic], sessionTimeoutMs: 20_000 }
      const a = await started(cluster, { ...options, instanceId: 'a' })
      const b = await started(cluster, { ...options, instanceId: 'b' })
      await owning(cluster, b, 1)
      await a.stop({ leave: true })
      await owning(cluster, b, 2)
    },
  },
  {
    title: 'leaves the group as a static member whose join has no answer yet',
    async run(cluster) {
      const topic = await cluster.createTopic('leave-joining', 2)
      const groupId = cluster.place.named('leave-joining')
      const options = { groupId, topics: [topic], sessionTimeoutMs: 20_000, assignment: 'EAGER' } as const
      const drained = Promise.withResolvers<void>()
      const a = await started(cluster, { ...options, drainDeadlineMs: 6_000, onRevoking: () => drained.promise })
      await owning(cluster, a, 2)
      const b = await started(cluster, { ...options, instanceId: 'b' }, 'b')
      // Its join waits for the other member, which drains.
      const isJoining = async (): Promise<void> => expect(await cluster.instancesOf(groupId)).toContain('b')
      await eventually(isJoining, { runtime: cluster.runtime })
      await b.stop({ leave: true, deadlineMs: 5_000 })
      expect(await cluster.instancesOf(groupId)).not.toContain('b')
      drained.resolve()
      await owning(cluster, a, 2)
    },
  },
  {
    title: 'ends the older of two members with one instance id, which commits nothing more',
    async run(cluster) {
      const topic = await cluster.createTopic('twins')
      const groupId = cluster.place.named('twins')
      await cluster.produce(topic, 0, texts(3))
      const fatal: Error[] = []
      const lost: TopicPartition[] = []
      const older = await started(cluster, {
        groupId,
        topics: [topic],
        instanceId: 'twin',
        onFatal: (error) => fatal.push(error),
        onLost: (partitions) => lost.push(...partitions),
      })
      const [record] = await take(older, 1)
      const newer = await started(cluster, { groupId, topics: [topic], instanceId: 'twin' })
      await owning(cluster, newer, 1)
      await eventually(() => expect(fatal).toHaveLength(1), { runtime: cluster.runtime })
      expect(fatal[0]).toMatchObject({ kind: 'FENCED' })
      expect(lost).toEqual([{ topic, partition: 0 }])
      await expect(older.poll(1, 10)).rejects.toBe(fatal[0])
      await expect(older.commit([commitOf(record as KafkaRecord)])).rejects.toThrow(KafkaError)
      expect(await newer.confirmMembership()).toBe(true)
      expect(await cluster.committed(groupId, topic)).toEqual(new Map())
    },
  },
  {
    title: 'commits nothing once it is expelled, moves no offset back, and starts again as a new member',
    async run(cluster) {
      const topic = await cluster.createTopic('expelled')
      const groupId = cluster.place.named('expelled')
      await cluster.produce(topic, 0, texts(10))
      const lost: TopicPartition[] = []
      const a = await started(cluster, { groupId, topics: [topic], onLost: (all) => lost.push(...all) })
      const records = await take(a, 3)
      // Another member has taken over, which this one does not know yet.
      await cluster.expel(groupId, a.groupMetadata().memberId)
      const b = await started(cluster, { groupId, topics: [topic] })
      const refused = a.commit([commitOf(records[2] as KafkaRecord)])
      await expect(refused).rejects.toMatchObject({ kind: 'REBALANCING' })
      await eventually(() => expect(lost).toEqual([{ topic, partition: 0 }]), { runtime: cluster.runtime })
      await expect(a.commit([commitOf(records[2] as KafkaRecord)])).rejects.toMatchObject({ kind: 'REBALANCING' })
      expect(await cluster.committed(groupId, topic)).toEqual(new Map())
      const owner = await eventually(
        () => {
          const found = [a, b].find((consumer) => consumer.position({ topic, partition: 0 }) !== undefined)
          if (found === undefined) throw new Error('The partition has no owner yet.')
          return found
        },
        { runtime: cluster.runtime },
      )
      const again = await take(owner, 10)
      // The other one may be joining now: a commit within a rebalance is refused, and succeeds after it.
      await eventually(() => owner.commit([commitOf(again.at(-1) as KafkaRecord)]), { runtime: cluster.runtime })
      await expect(a.commit([commitOf(records[2] as KafkaRecord)])).rejects.toMatchObject({ kind: 'REBALANCING' })
      expect(await cluster.committed(groupId, topic)).toEqual(new Map([[0, 10n]]))
    },
  },
  {
    title: 'owns, reads and commits a companion partition with its source',
    async run(cluster) {
      const topic = await cluster.createTopic('source', 4)
      const beside = await cluster.createTopic('beside', 4)
      const groupId = cluster.place.named('companion')
      for (let partition = 0; partition < 4; partition++) {
        await cluster.produce(topic, partition, [`s${partition}`])
        await cluster.produce(beside, partition, [`c${partition}`])
      }
      const calls: string[] = []
      const options = (name: string) => ({
        groupId,
        topics: [topic],
        companion: (source: string) => (source === topic ? beside : undefined),
        onAssigned: async (partitions: readonly TopicPartition[]) => void calls.push(`${name} + ${partitions.length}`),
        onRevoking: async (partitions: readonly TopicPartition[]) => void calls.push(`${name} - ${partitions.length}`),
      })
      const a = await started(cluster, options('a'))
      const records = await take(a, 8)
      expect(valuesOf(records).toSorted()).toEqual(['c0', 'c1', 'c2', 'c3', 's0', 's1', 's2', 's3'])
      expect(new Set(records.map(({ epoch }) => epoch)).size).toBe(1)
      await a.commit(records.map((record) => commitOf(record)))
      const b = await started(cluster, options('b'))
      await owning(cluster, b, 4)
      await owning(cluster, a, 4)
      expect(partitionsOf(a, beside)).toEqual(partitionsOf(a, topic))
      expect(partitionsOf(b, beside)).toEqual(partitionsOf(b, topic))
      await eventually(() => expect(calls).toEqual(['a + 8', 'a - 4', 'b + 4']), { runtime: cluster.runtime })
      const [moved] = partitionsOf(b, topic)
      await cluster.produce(beside, moved as number, ['later'])
      expect(valuesOf(await take(b, 1))).toEqual(['later'])
      // Each on its own: reading the one up to a point while the other waits is what companions are for.
      b.pause([{ topic, partition: moved as number }])
      await cluster.produce(topic, moved as number, ['paused'])
      await cluster.produce(beside, moved as number, ['flows'])
      expect(valuesOf(await take(b, 1))).toEqual(['flows'])
    },
  },
  {
    title: 'takes new partitions in, and topics that come into being later',
    async run(cluster) {
      const topic = await cluster.createTopic('growing')
      const missing = cluster.place.named('missing')
      const consumer = await started(cluster, { groupId: cluster.place.named('growing'), topics: [topic, missing] })
      await owning(cluster, consumer, 1)
      await cluster.addPartitions(topic, 3)
      await owning(cluster, consumer, 3)
      await cluster.produce(topic, 2, ['grown'])
      expect(valuesOf(await take(consumer, 1))).toEqual(['grown'])
      await cluster.createNamed(missing)
      await owning(cluster, consumer, 4)
      await cluster.produce(missing, 0, ['found'])
      expect(valuesOf(await take(consumer, 1))).toEqual(['found'])
    },
  },
  {
    title:
      'flows on beside a topic that is deleted, commits and stays a member, and reads it from its beginning when it is back',
    async run(cluster) {
      const gone = await cluster.createTopic('gone')
      const stays = await cluster.createTopic('stays')
      const losses: PositionLoss[] = []
      const lost: TopicPartition[] = []
      const consumer = await started(cluster, {
        groupId: cluster.place.named('deleted'),
        topics: [gone, stays],
        onPositionLost: (loss) => losses.push(loss),
        onLost: (partitions) => lost.push(...partitions),
      })
      await cluster.produce(gone, 0, texts(5))
      const before = await take(consumer, 5)
      await cluster.deleteTopic(gone)
      for (let turn = 0; turn < 10; turn++) {
        await cluster.produce(stays, 0, [`s${turn}`])
        const records = await take(consumer, 1)
        expect(valuesOf(records)).toEqual([`s${turn}`])
        await consumer.commit([commitOf(records[0] as KafkaRecord)])
        await cluster.runtime.timers.sleep(200)
      }
      expect(await consumer.confirmMembership()).toBe(true)
      await cluster.createNamed(gone)
      await cluster.produce(gone, 0, ['anew'])
      const [anew] = await take(consumer, 1)
      expect(valuesOf([anew as KafkaRecord])).toEqual(['anew'])
      expect(losses).toEqual([{ topic: gone, partition: 0, cause: 'TOPIC_REPLACED', expected: 5n, continuesAt: 0n }])
      // Another topic, another assignment: what was settled of the former must not be committed for this one.
      expect(lost).toEqual([{ topic: gone, partition: 0 }])
      expect(anew?.epoch).toBeGreaterThan(before[0]?.epoch ?? 0)
      const late = commitOf(before.at(-1) as KafkaRecord)
      await expect(consumer.commit([late])).rejects.toMatchObject({ kind: 'REBALANCING' })
    },
  },
  {
    title: 'takes nothing of its former topics when a static member comes back with others, and gets what it asks for',
    async run(cluster) {
      const [old, other] = [await cluster.createTopic('static-old', 2), await cluster.createTopic('static-other', 2)]
      const groupId = cluster.place.named('static-topics')
      const up = (instanceId: string, topics: readonly string[], assigned: string[] = []): Promise<Consumer> =>
        started(cluster, {
          groupId,
          topics,
          instanceId,
          sessionTimeoutMs: 30_000,
          onAssigned: async (partitions) => void assigned.push(...partitions.map(({ topic }) => topic)),
        })
      const stays = await up('stays', [old])
      await owning(cluster, stays, 2)
      const former = await up('changes', [old])
      await owning(cluster, former, 1)
      await former.stop()
      const assigned: string[] = []
      const changed = await up('changes', [other], assigned)
      await owning(cluster, changed, 2)
      await owning(cluster, stays, 2)
      expect(assigned).toEqual([other, other])
      await changed.stop()
      const back = await up('changes', [old])
      await owning(cluster, back, 1)
      await owning(cluster, stays, 1)
      await back.stop()
      const wider = await up('changes', [old, other])
      await owning(cluster, stays, 2)
      await eventually(() => expect(partitionsOf(wider, other)).toEqual([0, 1]), { runtime: cluster.runtime })
      await wider.stop({ leave: true })
      await stays.stop({ leave: true })
    },
  },
  {
    title: 'continues at its start position after a restart before its first commit (LATEST)',
    async run(cluster) {
      const topic = await cluster.createTopic('latest', 2)
      await cluster.produce(topic, 0, ['before'])
      const options = { groupId: cluster.place.named('latest'), topics: [topic], startFrom: 'LATEST' } as const
      const first = await started(cluster, { ...options, startMetadata: (offset) => `began at ${offset}` })
      await owning(cluster, first, 2)
      expect(await first.committed([{ topic, partition: 0 }])).toEqual([
        { topic, partition: 0, offset: 1n, metadata: 'began at 1' },
      ])
      await cluster.produce(topic, 0, texts(3, 'n'))
      expect(valuesOf(await take(first, 3))).toEqual(['n0', 'n1', 'n2'])
      await first.stop()
      await cluster.produce(topic, 1, ['meanwhile'])
      const second = await started(cluster, options)
      expect(valuesOf(await take(second, 4)).toSorted()).toEqual(['meanwhile', 'n0', 'n1', 'n2'])
    },
  },
  {
    title: 'begins what is created after it at its first record, also with LATEST',
    async run(cluster) {
      const topic = await cluster.createTopic('latest-known', 1)
      const later = cluster.place.named('latest-later')
      await cluster.produce(topic, 0, ['before'])
      const options = {
        groupId: cluster.place.named('latest-new'),
        topics: [topic, later],
        startFrom: 'LATEST',
      } as const
      const consumer = await started(cluster, options)
      await owning(cluster, consumer, 1)
      await cluster.addPartitions(topic, 2)
      await cluster.createNamed(later)
      await cluster.produce(topic, 1, ['new partition'])
      await cluster.produce(later, 0, ['new topic'])
      expect(valuesOf(await take(consumer, 2)).toSorted()).toEqual(['new partition', 'new topic'])
      await consumer.stop()
      const next = await started(cluster, options)
      expect(valuesOf(await take(next, 2)).toSorted()).toEqual(['new partition', 'new topic'])
    },
  },
  {
    title: 'refuses a poll for no records, and does not delay later polls',
    async run(cluster) {
      const topic = await cluster.createTopic('for-nothing')
      const consumer = await started(cluster, { groupId: cluster.place.named('for-nothing'), topics: [topic] })
      for (const max of [0, -1, 0.5, Number.NaN])
        await expect(consumer.poll(max, 60_000)).rejects.toThrow(ArgumentError)
      for (const timeoutMs of [-1, Number.NaN]) await expect(consumer.poll(1, timeoutMs)).rejects.toThrow(ArgumentError)
      await cluster.produce(topic, 0, texts(1))
      expect(valuesOf(await take(consumer, 1))).toEqual(texts(1))
    },
  },
  {
    title: 'refuses offsets that no log can have, and sends nothing of their commit',
    async run(cluster) {
      const topic = await cluster.createTopic('impossible', 2)
      const groupId = cluster.place.named('impossible')
      const consumer = await started(cluster, { groupId, topics: [topic] })
      await owning(cluster, consumer, 2)
      const { epoch = 0 } = consumer.assignment()[0] ?? {}
      const good = { topic, partition: 1, epoch, offset: 5n }
      for (const offset of [-1n, -7n, 2n ** 63n]) {
        const bad = { topic, partition: 0, epoch, offset }
        await expect(consumer.commit([good, bad])).rejects.toThrow(ArgumentError)
        expect(() => consumer.seek(bad, offset)).toThrow(ArgumentError)
      }
      expect([...(await cluster.committed(groupId, topic)).values()]).toEqual([])
      await consumer.commit([good])
    },
  },
  {
    title: 'continues at the start of the log when its offset is gone (EARLIEST), and reports the gap',
    run: (cluster) => goesOnAfterRetention(cluster, 'EARLIEST', 7n),
  },
  {
    title: 'continues at the end of the log when its offset is gone (LATEST), and reports the gap',
    run: (cluster) => goesOnAfterRetention(cluster, 'LATEST', 10n),
  },
  {
    title: 'stands still where its offset is gone (ERROR), alone, until a seek',
    run: (cluster) => goesOnAfterRetention(cluster, 'ERROR', null),
  },
  {
    title: 'stands still where the group has no offset (ERROR), alone, until a seek',
    async run(cluster) {
      const topic = await cluster.createTopic('no-offset')
      await cluster.produce(topic, 0, texts(3))
      const losses: PositionLoss[] = []
      const consumer = await started(cluster, {
        groupId: cluster.place.named('no-offset'),
        topics: [topic],
        startFrom: 'ERROR',
        onPositionLost: (loss) => losses.push(loss),
      })
      await eventually(() => expect(losses).toHaveLength(1), { runtime: cluster.runtime })
      expect(losses[0]).toMatchObject({ cause: 'NO_OFFSET', expected: null, continuesAt: null })
      expect(await consumer.poll(10, 300)).toEqual([])
      consumer.seek({ topic, partition: 0 }, 1n)
      expect(places(await take(consumer, 2))).toEqual(['0:1', '0:2'])
    },
  },
  {
    title: 'releases its partitions when it is not polled, and rejoins at the next poll',
    async run(cluster) {
      const topic = await cluster.createTopic('stuck')
      const groupId = cluster.place.named('stuck')
      await cluster.produce(topic, 0, texts(2))
      const lost: TopicPartition[] = []
      const stuck = await started(cluster, {
        groupId,
        topics: [topic],
        maxPollIntervalMs: 1_000,
        onLost: (partitions) => lost.push(...partitions),
      })
      const [record] = await take(stuck, 1)
      const other = await started(cluster, { groupId, topics: [topic] })
      await owning(cluster, other, 1)
      expect(lost).toEqual([{ topic, partition: 0 }])
      await expect(stuck.commit([commitOf(record as KafkaRecord)])).rejects.toMatchObject({ kind: 'REBALANCING' })
      await other.stop()
      expect(valuesOf(await take(stuck, 2))).toEqual(texts(2))
    },
  },
  {
    title: 'hands out everything in turn: a full partition does not keep the others waiting',
    async run(cluster) {
      const topic = await cluster.createTopic('fair', 3)
      for (let partition = 0; partition < 3; partition++) await cluster.produce(topic, partition, texts(60))
      const consumer = await started(cluster, { groupId: cluster.place.named('fair'), topics: [topic] })
      await take(consumer, 3)
      await cluster.runtime.timers.sleep(500)
      const turns: number[] = []
      for (let turn = 0; turn < 9; turn++) {
        const records = await consumer.poll(10, 2_000)
        expect(new Set(records.map(({ partition }) => partition)).size).toBe(1)
        turns.push(records[0]?.partition ?? -1)
      }
      for (let turn = 0; turn < 9; turn += 3) expect(new Set(turns.slice(turn, turn + 3)).size).toBe(3)
    },
  },
]
