import { Buffer } from 'node:buffer'
import {
  encodeAssignment,
  encodeSubscription,
  errorCode,
  type KafkaApi,
  type RequestOf,
  type ResponseOf,
  TransportError,
} from '@waybill/kafka/wire'
import { expect, test } from 'vitest'
import type { GroupMetadata } from '../../../src/client/cluster/group-metadata.ts'
import type { OffsetCommit } from '../../../src/client/cluster/offset-commit.ts'
import type { ProducerDeps } from '../../../src/client/producer/coordinator-call.ts'
import type { OutRecord } from '../../../src/client/producer/producer.ts'
import {
  createTransactionalProducer,
  type TransactionalProducer,
} from '../../../src/client/producer/transactional-producer.ts'
import { sorted, textRecord } from './producer-behaviour.ts'
import type { RunInWorld, World } from './world.ts'

/** Joins a group as its only member, and never again. */
async function joinGroup({ cluster, nodes, runtime }: ProducerDeps, groupId: string): Promise<GroupMetadata> {
  const send = async <A extends KafkaApi>(api: A, request: RequestOf<A>): Promise<ResponseOf<A>> =>
    nodes.send(await cluster.coordinator('GROUP', groupId, 5_000), api, request, 10_000)
  let memberId = ''
  for (;;) {
    const joined = await send('JoinGroup', {
      groupId,
      sessionTimeoutMs: 30_000,
      rebalanceTimeoutMs: 30_000,
      memberId,
      groupInstanceId: null,
      protocolType: 'consumer',
      protocols: [{ name: 'range', metadata: encodeSubscription({ topics: [], owned: [], generationId: -1 }) }],
      reason: '',
    })
    memberId = joined.memberId
    if (joined.errorCode === errorCode.MEMBER_ID_REQUIRED) continue
    if (joined.errorCode !== errorCode.NONE) {
      await runtime.timers.sleep(50)
      cluster.invalidateCoordinator('GROUP', groupId)
      continue
    }
    const { generationId } = joined
    await send('SyncGroup', {
      groupId,
      generationId,
      memberId,
      groupInstanceId: null,
      protocolType: 'consumer',
      protocolName: 'range',
      assignments: [{ memberId, assignment: encodeAssignment([]) }],
    })
    return { groupId, generationId, memberId, instanceId: null }
  }
}

/** Asked for by name: a list of all offsets leaves out those of a transaction whose markers are not yet written. */
async function committedOffsets(
  { cluster, nodes, runtime }: ProducerDeps,
  groupId: string,
  topic: string,
  partitions: number,
): Promise<readonly bigint[]> {
  const topics = [{ name: topic, partitionIndexes: Array.from({ length: partitions }, (_, index) => index) }]
  for (;;) {
    const node = await cluster.coordinator('GROUP', groupId, 5_000)
    const answer = await nodes.send(node, 'OffsetFetch', { groupId, topics, requireStable: true }, 5_000)
    const found = answer.topics.flatMap((one) => one.partitions)
    if (answer.errorCode === errorCode.NONE && found.every((one) => one.errorCode === errorCode.NONE))
      return found.map(({ committedOffset }) => committedOffset)
    cluster.invalidateCoordinator('GROUP', groupId)
    await runtime.timers.sleep(20)
  }
}

async function committedValues(world: World, topic: string, partitions = 1): Promise<string[]> {
  const logs = []
  for (let partition = 0; partition < partitions; partition++)
    logs.push(...(await world.readLog(topic, partition, 'READ_COMMITTED')))
  return logs.map(({ value }) => value ?? '')
}

/** Markers are written after the end of a transaction was answered. */
async function eventuallyCommitted(
  world: World,
  topic: string,
  expected: readonly string[],
  partitions = 1,
): Promise<void> {
  for (let tries = 0; tries < 50; tries++) {
    const values = await committedValues(world, topic, partitions)
    if (values.length >= expected.length) break
    await world.runtime.timers.sleep(20)
  }
  expect(sorted(await committedValues(world, topic, partitions))).toEqual(sorted(expected))
}

/** A transaction of one record. */
async function commitOne(producer: TransactionalProducer, record: OutRecord): Promise<void> {
  await producer.begin()
  await producer.send(record)
  await producer.commit()
}

/** The setup of most tests. */
interface Scene {
  readonly world: World
  readonly topic: string
  /** The producer's own. */
  readonly client: ProducerDeps
  readonly producer: TransactionalProducer
}

/** Behavior of a transactional producer on every cluster. */
export function testTransactionalProducer(run: RunInWorld): void {
  const withProducer = (partitions: number, program: (scene: Scene) => Promise<void>): Promise<void> =>
    run(async (world) => {
      const topic = await world.createTopic(partitions)
      const client = world.client()
      await using producer = createTransactionalProducer(client, world.named('tx'))
      await program({ world, topic, client, producer })
    })
  const withGroup = (
    partitions: number,
    program: (scene: Scene & { readonly group: GroupMetadata }) => Promise<void>,
  ): Promise<void> =>
    withProducer(partitions, async (scene) => {
      const group = await joinGroup(scene.client, scene.world.named('group'))
      await program({ ...scene, group })
    })

  test('what is committed appears, what is aborted does not', () =>
    withProducer(2, async ({ world, topic, producer }) => {
      for (const [index, ends] of (['commit', 'abort', 'commit', 'abort'] as const).entries()) {
        await producer.begin()
        const sends = [0, 1].map((partition) => producer.send(textRecord(topic, `${ends} ${index}`, partition)))
        await Promise.all(sends)
        await producer[ends]()
      }
      await eventuallyCommitted(world, topic, ['commit 0', 'commit 0', 'commit 2', 'commit 2'], 2)
    }))

  test('sends to many new partitions at once are all part of the transaction, and are announced together', () =>
    withProducer(16, async ({ world, topic, producer }) => {
      await producer.begin()
      const values = Array.from({ length: 160 }, (_, index) => `${index}`)
      const sends = values.map((value, index) => producer.send(textRecord(topic, value, index % 16)))
      await producer.commit()
      await Promise.all(sends)
      const announcements = world.transport.requests.filter((api) => api === 'AddPartitionsToTxn')
      expect(announcements.length).toBeLessThan(10)
      await eventuallyCommitted(world, topic, values, 16)
    }))

  test('offsets of all partitions are committed with it, under the generation of the member', () =>
    withGroup(3, async ({ topic, client, group, producer }) => {
      const offsets = [0, 1, 2].map((partition) => ({ topic, partition, offset: BigInt(10 + partition), epoch: 1 }))
      await producer.begin()
      await producer.send(textRecord(topic, 'with offsets', 0))
      await producer.sendOffsets(offsets, group)
      await producer.commit()
      expect(await committedOffsets(client, group.groupId, topic, 3)).toEqual([10n, 11n, 12n])

      await producer.begin()
      await producer.sendOffsets(
        offsets.map((one) => ({ ...one, offset: one.offset + 100n })),
        group,
      )
      await producer.abort()
      expect(await committedOffsets(client, group.groupId, topic, 3)).toEqual([10n, 11n, 12n])
    }))

  test.each([
    { what: 'generation', part: { generationId: 99 }, reason: 'ILLEGAL_GENERATION' },
    { what: 'member', part: { memberId: 'nobody' }, reason: 'UNKNOWN_MEMBER_ID' },
  ])('a stale $what is refused, and the transaction can only be aborted', ({ part, reason }) =>
    withGroup(1, async ({ world, topic, client, group, producer }) => {
      await producer.begin()
      await producer.send(textRecord(topic, 'stale'))
      const stale = producer.sendOffsets([{ topic, partition: 0, offset: 5n, epoch: 1 }], { ...group, ...part })
      await expect(stale).rejects.toMatchObject({ kind: 'ABORTABLE', reason })
      await expect(producer.send(textRecord(topic, 'too late'))).rejects.toMatchObject({ kind: 'ABORTABLE' })
      await expect(producer.commit()).rejects.toMatchObject({ kind: 'ABORTABLE', reason })
      await producer.abort()
      expect(await committedOffsets(client, group.groupId, topic, 1)).toEqual([-1n])
      await commitOne(producer, textRecord(topic, 'next'))
      await eventuallyCommitted(world, topic, ['next'])
    }),
  )

  test('an offset whose partition is given up before it is sent is refused, and the transaction with it', () =>
    withGroup(2, async ({ world, topic, client, group: joined, producer }) => {
      let isGivenUp = false
      const objection = ({ partition }: OffsetCommit): string | undefined =>
        partition === 1 && isGivenUp ? 'it is not owned any more' : undefined
      const group = { ...joined, objection }
      const offsets = [0, 1].map((partition) => ({ topic, partition, offset: 5n, epoch: 1 }))
      world.transport.onRequest = (api) => {
        // The last moment: the next request has the offsets.
        if (api === 'AddOffsetsToTxn') isGivenUp = true
      }
      await producer.begin()
      await producer.send(textRecord(topic, 'given up', 0))
      const refused = { kind: 'ABORTABLE', cause: { kind: 'REBALANCING' } }
      await expect(producer.sendOffsets(offsets, group)).rejects.toMatchObject(refused)
      await expect(producer.commit()).rejects.toMatchObject(refused)
      expect(world.transport.requests).not.toContain('TxnOffsetCommit')
      expect(await committedOffsets(client, group.groupId, topic, 2)).toEqual([-1n, -1n])
      await producer.begin()
      await producer.send(textRecord(topic, 'owned', 0))
      await producer.sendOffsets(offsets.slice(0, 1), group)
      await producer.commit()
      expect(await committedOffsets(client, group.groupId, topic, 2)).toEqual([5n, -1n])
      await eventuallyCommitted(world, topic, ['owned'])
    }))

  test('offsets arrive in the order of their calls, also when one has to be repeated', () =>
    withGroup(1, async ({ world, topic, client, group, producer }) => {
      await producer.begin()
      const arrived: bigint[] = []
      let failures = 1
      world.transport.onRequest = (api, request) => {
        if (api !== 'TxnOffsetCommit') return
        if (failures-- > 0) throw new TransportError('Not sent.', 'NOT_SENT')
        const { topics } = request as RequestOf<'TxnOffsetCommit'>
        arrived.push(...topics.flatMap((one) => one.partitions.map(({ committedOffset }) => committedOffset)))
      }
      const sends = [5n, 6n, 7n].map((offset) =>
        producer.sendOffsets([{ topic, partition: 0, offset, epoch: 1 }], group),
      )
      await producer.commit()
      await Promise.all(sends)
      expect(arrived).toEqual([5n, 6n, 7n])
      expect(await committedOffsets(client, group.groupId, topic, 1)).toEqual([7n])
    }))

  test('offsets behind some that were refused are not sent', () =>
    withGroup(1, async ({ world, topic, group, producer }) => {
      await producer.begin()
      const offset = { topic, partition: 0, offset: 5n, epoch: 1 }
      const results = await Promise.allSettled([
        producer.sendOffsets([offset], { ...group, generationId: 99 }),
        producer.sendOffsets([{ ...offset, offset: 6n }], group),
      ])
      const reason = { kind: 'ABORTABLE', reason: 'ILLEGAL_GENERATION' }
      expect(results).toMatchObject([{ reason }, { reason }])
      expect(world.transport.requests.filter((api) => api === 'TxnOffsetCommit')).toHaveLength(1)
    }))

  test.each([-1n, 2n ** 63n])('an offset that no log can have is refused, and the transaction with it: %i', (offset) =>
    withGroup(1, async ({ topic, client, group, producer }) => {
      await producer.begin()
      const good = { topic, partition: 0, offset: 2n ** 63n - 1n, epoch: 1 }
      const refused = producer.sendOffsets([good, { ...good, offset }], group)
      await expect(refused).rejects.toMatchObject({ code: 'WAYBILL_ARGUMENT_INVALID' })
      await expect(producer.commit()).rejects.toMatchObject({ kind: 'ABORTABLE' })
      await producer.begin()
      await producer.sendOffsets([good], group)
      await producer.commit()
      expect(await committedOffsets(client, group.groupId, topic, 1)).toEqual([good.offset])
    }),
  )

  test('one failed send fails the whole: commit aborts and says why, and the next transaction works', () =>
    run(async (world) => {
      const topic = await world.createTopic(2, { 'max.message.bytes': '2000' })
      const id = world.named('tx')
      await using producer = createTransactionalProducer(world.client(), id, { compression: 'NONE' })
      // A new partition may be unknown to its leader at first, which leaves the attempt in doubt, and then the send.
      await commitOne(producer, textRecord(topic, 'first', 1))
      await producer.begin()
      await producer.send(textRecord(topic, 'good', 0))
      const bad = producer.send(textRecord(topic, 'x'.repeat(3_000), 1))
      await expect(bad).rejects.toMatchObject({ kind: 'ABORTABLE', reason: 'MESSAGE_TOO_LARGE' })
      await expect(producer.commit()).rejects.toMatchObject({ kind: 'ABORTABLE', reason: 'MESSAGE_TOO_LARGE' })
      await commitOne(producer, textRecord(topic, 'next', 0))
      await eventuallyCommitted(world, topic, ['first', 'next'], 2)
    }))

  test('a failed send that was not awaited fails the transaction too', () =>
    run(async (world) => {
      const topic = await world.createTopic(1)
      await using producer = createTransactionalProducer(world.client(), world.named('tx'), { maxRecordBytes: 1_000 })
      await producer.begin()
      const sends = [producer.send(textRecord(topic, 'good')), producer.send(textRecord(topic, 'x'.repeat(2_000)))]
      const results = Promise.allSettled(sends)
      await expect(producer.commit()).rejects.toMatchObject({ kind: 'ABORTABLE' })
      expect((await results).map(({ status }) => status)).toContain('rejected')
      await eventuallyCommitted(world, topic, [])
    }))

  test('a new incarnation ends the old one, and aborts what it left open', () =>
    run(async (world) => {
      const topic = await world.createTopic(1)
      const id = world.named('tx')
      const old = createTransactionalProducer(world.client(), id)
      await old.begin()
      await old.send(textRecord(topic, 'old'))
      const next = createTransactionalProducer(world.client(), id)
      await next.begin()
      await next.send(textRecord(topic, 'next'))
      await expect(old.commit()).rejects.toMatchObject({ kind: 'FENCED' })
      await expect(old.begin()).rejects.toMatchObject({ kind: 'FENCED' })
      await expect(old.send(textRecord(topic, 'zombie'))).rejects.toMatchObject({ kind: 'FENCED' })
      await next.commit()
      await old.close()
      await next.close()
      await eventuallyCommitted(world, topic, ['next'])
    }))

  test('a send of an old incarnation is refused', () =>
    run(async (world) => {
      const topic = await world.createTopic(2)
      const id = world.named('tx')
      const old = createTransactionalProducer(world.client(), id)
      await old.begin()
      await old.send(textRecord(topic, 'old', 0))
      const next = createTransactionalProducer(world.client(), id)
      await next.begin()
      await expect(old.send(textRecord(topic, 'zombie', 0))).rejects.toMatchObject({ kind: 'FENCED' })
      await expect(old.send(textRecord(topic, 'zombie', 1))).rejects.toMatchObject({ kind: 'FENCED' })
      await next.close()
      await old.close()
      await eventuallyCommitted(world, topic, [], 2)
    }))

  test('nothing is committed twice or in part when 3 of 10 answers of any kind are lost', () =>
    run(async (world) => {
      const topic = await world.createTopic(2)
      const client = world.client()
      const group = await joinGroup(client, world.named('group'))
      const producer = createTransactionalProducer(client, world.named('tx'), { retryBackoffMs: 5 })
      const lossy = [
        'Produce',
        'InitProducerId',
        'AddPartitionsToTxn',
        'AddOffsetsToTxn',
        'TxnOffsetCommit',
        'EndTxn',
      ] as const
      for (const api of lossy) world.transport.lose(api, 0.3)
      const expected: string[] = []
      for (let round = 0; round < 20; round++) {
        await producer.begin()
        const values = [`${round} a`, `${round} b`, `${round} c`]
        const sends = values.map((value, index) => producer.send(textRecord(topic, value, index % 2)))
        await Promise.all(sends)
        await producer.sendOffsets([{ topic, partition: 0, offset: BigInt(round), epoch: 1 }], group)
        if (round % 4 === 3) await producer.abort()
        else {
          await producer.commit()
          expected.push(...values)
        }
      }
      for (const api of lossy) world.transport.lose(api, 0)
      await producer.close()
      expect(world.transport.lostCount).toBeGreaterThan(10)
      await eventuallyCommitted(world, topic, expected, 2)
      expect(await committedOffsets(client, group.groupId, topic, 1)).toEqual([18n])
    }))

  test('a commit without a response is unknown and ends the producer; the next instance continues', () =>
    run(async (world) => {
      const topic = await world.createTopic(1)
      const id = world.named('tx')
      const bounds = { deliveryTimeoutMs: 1_000, requestTimeoutMs: 500 }
      const producer = createTransactionalProducer(world.client(), id, bounds)
      await producer.begin()
      await producer.send(textRecord(topic, 'all or nothing'))
      world.transport.lose('EndTxn', 1)
      await expect(producer.commit()).rejects.toMatchObject({ kind: 'UNKNOWN' })
      world.transport.lose('EndTxn', 0)
      await expect(producer.begin()).rejects.toMatchObject({ kind: 'UNKNOWN' })
      await producer.close()
      await using next = createTransactionalProducer(world.client(), id)
      await commitOne(next, textRecord(topic, 'next'))
      // The broker did commit: only its answers were lost.
      await eventuallyCommitted(world, topic, ['all or nothing', 'next'])
    }))

  test('abort fails unsent records', () =>
    run(async (world) => {
      const topic = await world.createTopic(1)
      const id = world.named('tx')
      await using producer = createTransactionalProducer(world.client(), id, { lingerMs: 5_000, batchBytes: 100_000 })
      await producer.begin()
      const results = Promise.allSettled(Array.from({ length: 10 }, () => producer.send(textRecord(topic, 'gone'))))
      await world.runtime.timers.sleep(50)
      await producer.abort()
      for (const result of await results) expect(result).toMatchObject({ reason: { kind: 'ABORTABLE' } })
      await commitOne(producer, textRecord(topic, 'next'))
      await eventuallyCommitted(world, topic, ['next'])
    }))

  test('an empty transaction costs no request, and close aborts an open one', () =>
    run(async (world) => {
      const topic = await world.createTopic(1)
      const producer = createTransactionalProducer(world.client(), world.named('tx'))
      await producer.begin()
      const before = world.transport.requests.length
      await producer.commit()
      await producer.begin()
      await producer.abort()
      expect(world.transport.requests.length).toBe(before)
      await producer.begin()
      await producer.send(textRecord(topic, 'open'))
      await producer.close()
      expect(world.transport.requests.filter((api) => api === 'EndTxn')).toHaveLength(1)
      await expect(producer.begin()).rejects.toMatchObject({ kind: 'FATAL' })
      await eventuallyCommitted(world, topic, [])
    }))

  test('calls out of their order are refused', () =>
    run(async (world) => {
      await using producer = createTransactionalProducer(world.client(), world.named('tx'))
      const code = 'WAYBILL_STATE_INVALID'
      await expect(producer.commit()).rejects.toMatchObject({ code })
      await expect(producer.send(textRecord('t', 'x'))).rejects.toMatchObject({ code })
      await expect(
        producer.sendOffsets([], { groupId: 'g', generationId: 1, memberId: 'm', instanceId: null }),
      ).rejects.toMatchObject({ code })
      const beginning = producer.begin()
      await expect(producer.begin()).rejects.toMatchObject({ code })
      await beginning
      await expect(producer.begin()).rejects.toMatchObject({ code })
      await producer.abort()
      await producer.abort()
    }))

  test('Buffer keys choose the partition as in any producer', () =>
    withProducer(4, async ({ topic, producer }) => {
      await producer.begin()
      const first = await producer.send({ topic, key: Buffer.from('k'), value: null })
      const second = await producer.send({ topic, key: Buffer.from('k'), value: null })
      expect(second.partition).toBe(first.partition)
      await producer.commit()
    }))
}
