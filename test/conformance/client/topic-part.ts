import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { requireAllDone } from '@waybill/kafka'
import type { KafkaSuite } from '../kafka-harness.ts'
import { type ClientScene, kafkaErrorOf, textRecord } from './client-scene.ts'

/** Tests of topics that appear, grow, shrink and disappear under a running consumer, and where it continues. */
export function topicPart(suite: KafkaSuite<ClientScene>): void {
  suite.describe('a subscribed topic', () => changeTests(suite))
  suite.describe('an offset that the log does not have', () => rangeTests(suite))
  suite.describe('pause and seek', () => positionTests(suite))
}

function changeTests({ test }: KafkaSuite<ClientScene>): void {
  test('that grows is read whole', async (scene) => {
    const topic = await scene.createTopic('grown', { partitions: 1 })
    const reader = await scene.read({ groupId: scene.named('grown'), topics: [topic] })
    await reader.untilOwned(1)
    requireAllDone('Growing a topic', await scene.kafka.admin.createPartitions({ [topic]: 3 }))
    await reader.untilOwned(3)
    for (const partition of [0, 1, 2]) await scene.write(topic, [`in ${partition}`], partition)
    await reader.untilRead(3)
    assert.deepEqual(reader.values.toSorted(), ['in 0', 'in 1', 'in 2'])
  })

  test('that is deleted does not hold up the other one', async (scene) => {
    const doomed = await scene.createTopic('doomed')
    const other = await scene.createTopic('other')
    const reader = await scene.read({ groupId: scene.named('deleted'), topics: [doomed, other] })
    await scene.write(doomed, ['doomed'])
    await scene.write(other, ['before'])
    await reader.untilRead(2)
    await reader.commit()
    requireAllDone('Deleting a topic', await scene.kafka.admin.deleteTopics([doomed]))
    await scene.write(other, ['after'])
    await reader.untilRead(3)
    const last = reader.records.at(-1)
    assert.equal(String(last?.value), 'after')
    const partitions = [{ topic: other, partition: 0 }]
    await scene.until(
      async () => {
        // The group rebalances when it observes a deleted topic. Partitions that are still owned are committed afterward.
        const { epoch = -1 } = reader.consumer.assignment().find(({ topic }) => topic === other) ?? {}
        await reader.consumer.commit([{ topic: other, partition: 0, offset: 2n, epoch }]).catch(() => {})
        return (await reader.consumer.committed(partitions))[0]?.offset
      },
      (offset) => offset === 2n,
    )
    assert.equal(await reader.consumer.confirmMembership(), true)
  })

  test('that is created later is read from its beginning', async (scene) => {
    const topic = scene.named('later')
    const reader = await scene.read({ groupId: scene.named('later'), topics: [topic] })
    assert.deepEqual(await reader.poll(), [])
    await scene.createTopic('later')
    await scene.write(topic, ['first'])
    await reader.untilRead(1)
    assert.deepEqual(reader.values, ['first'])
  })

  test('that was deleted and created again is another one, and its reader is told', async (scene) => {
    const topic = await scene.createTopic('again')
    const reader = await scene.read({ groupId: scene.named('again'), topics: [topic] })
    await scene.write(topic, ['former 0', 'former 1'])
    await reader.untilRead(2)
    requireAllDone('Deleting a topic', await scene.kafka.admin.deleteTopics([topic]))
    await scene.until(
      () => scene.kafka.admin.listTopics(),
      (topics) => !topics.includes(topic),
    )
    await scene.createTopic('again')
    await scene.write(topic, ['latter 0', 'latter 1', 'latter 2'])
    await reader.untilRead(5)
    assert.deepEqual(reader.values.slice(2), ['latter 0', 'latter 1', 'latter 2'], 'none is left out')
  })

  test('that does not exist is an error for who writes, and nothing is written', async (scene) => {
    const producer = scene.kafka.producer('EVENT', { unknownTopicWaitMs: 200 })
    const error = await kafkaErrorOf(producer.send(textRecord(scene.named('never'), 'x')), 'RETRIABLE')
    assert.match(error.message, /never/)
    const topic = await scene.createTopic('one-partition')
    await kafkaErrorOf(producer.send(textRecord(topic, 'x', 5)), 'RETRIABLE')
    assert.deepEqual(await producer.send(textRecord(topic, 'y')), { partition: 0, offset: 0n })
  })
}

function rangeTests({ test }: KafkaSuite<ClientScene>): void {
  test('because its records are deleted is told, and reading goes on at the earliest', async (scene) => {
    const topic = await scene.createTopic('deleted-records')
    const options = { groupId: scene.named('deleted-records'), topics: [topic] }
    await scene.write(topic, ['a', 'b', 'c', 'd'])
    const first = await scene.read(options)
    await first.untilOwned(1)
    const epoch = first.consumer.assignment()[0]?.epoch ?? -1
    await first.consumer.commit([{ topic, partition: 0, offset: 1n, epoch }])
    const partition = { topic, partition: 0 }
    await scene.kafka.admin.deleteRecords([{ ...partition, before: 3n }])
    const second = await scene.read({ ...options, groupId: scene.named('deleted-second') })
    await second.untilRead(1)
    assert.deepEqual([second.values, second.losses], [['d'], []], 'a new group never expected them')
    first.consumer.seek(partition, 1n)
    const before = first.records.length
    await first.untilRead(before + 1)
    assert.equal(String(first.records.at(-1)?.value), 'd')
    assert.deepEqual(first.losses, [{ ...partition, cause: 'OUT_OF_RANGE', expected: 1n, continuesAt: 3n }])
  })

  test('stops that partition alone where the policy is ERROR, until a seek', async (scene) => {
    const topic = await scene.createTopic('error', { partitions: 2 })
    const groupId = scene.named('error')
    const offsets = [0, 1].map((partition) => ({ topic, partition, offset: partition === 0 ? 99n : 0n }))
    requireAllDone('Setting offsets', await scene.kafka.admin.alterGroupOffsets(groupId, offsets))
    const reader = await scene.read({ groupId, topics: [topic], startFrom: 'ERROR' })
    await scene.write(topic, ['unreachable'], 0)
    await scene.write(topic, ['reachable'], 1)
    await reader.untilRead(1)
    await scene.until(
      async () => {
        await reader.poll()
        return reader.losses
      },
      (losses) => losses.length === 1,
    )
    const partition = { topic, partition: 0 }
    assert.deepEqual(reader.losses, [{ ...partition, cause: 'OUT_OF_RANGE', expected: 99n, continuesAt: null }])
    await scene.write(topic, ['more'], 1)
    await reader.untilRead(2)
    assert.deepEqual(reader.values, ['reachable', 'more'])
    reader.consumer.seek(partition, 0n)
    await reader.untilRead(3)
    assert.deepEqual(reader.values.slice(2), ['unreachable'])
  })

  test('is the latest for a new group that wants nothing older', async (scene) => {
    const topic = await scene.createTopic('latest')
    await scene.write(topic, ['old'])
    const reader = await scene.read({ groupId: scene.named('latest'), topics: [topic], startFrom: 'LATEST' })
    await reader.untilOwned(1)
    assert.equal(reader.consumer.position({ topic, partition: 0 }), 1n)
    await scene.write(topic, ['new'])
    await reader.untilRead(1)
    assert.deepEqual(reader.values, ['new'])
  })
}

function positionTests({ test }: KafkaSuite<ClientScene>): void {
  test('hold under load, with much fetched ahead: nothing twice, nothing left out', async (scene) => {
    const topic = await scene.createTopic('load', { partitions: 2 })
    const [held, free] = [0, 1].map((partition) => ({ topic, partition }))
    assert.ok(held !== undefined && free !== undefined)
    const all = Array.from({ length: 400 }, (_, index) => String(index))
    await Promise.all([0, 1].map((partition) => scene.write(topic, all, partition)))
    const reader = await scene.read({ groupId: scene.named('load'), topics: [topic], prefetchRecords: 5_000 })
    const of = (partition: number): string[] =>
      reader.records.filter((record) => record.partition === partition).map(({ value }) => String(value))
    await reader.untilOwned(2)
    while (of(0).length < 20 || of(1).length < 20) await reader.poll(10)

    reader.consumer.pause([held])
    const pausedAt = of(0).length
    assert.equal(reader.consumer.position(held), BigInt(pausedAt))
    while (of(1).length < 100) await reader.poll(10)
    assert.equal(of(0).length, pausedAt, 'nothing of a paused partition')

    reader.consumer.seek(held, 300n)
    assert.equal(reader.consumer.position(held), 300n)
    reader.consumer.seek(free, 5n)
    const freeAt = of(1).length
    while (of(1).length < freeAt + 30) await reader.poll(10)
    assert.equal(of(0).length, pausedAt, 'a seek does not resume')
    assert.deepEqual(of(1).slice(freeAt, freeAt + 30), all.slice(5, 35))

    reader.consumer.resume([held])
    await Promise.all([0, 1].map((partition) => scene.write(topic, ['last'], partition)))
    await scene.until(
      async () => {
        await reader.poll(10)
        return [of(0).at(-1), of(1).at(-1)]
      },
      (last) => last.every((value) => value === 'last'),
    )
    assert.deepEqual(of(0), [...all.slice(0, pausedAt), ...all.slice(300), 'last'])
    assert.deepEqual(of(1).slice(freeAt), [...all.slice(5), 'last'])
    assert.equal(reader.consumer.position(held), 401n)
    assert.equal(reader.consumer.position({ topic, partition: 9 }), undefined)
  })

  test('in onAssigned hold before the first record is handed out', async (scene) => {
    const topic = await scene.createTopic('assigned', { partitions: 2 })
    for (const partition of [0, 1]) await scene.write(topic, ['a', 'b', 'c'], partition)
    const reader = await scene.read({
      groupId: scene.named('assigned'),
      topics: [topic],
      onAssigned: async (partitions) => {
        for (const partition of partitions) {
          if (partition.partition === 0) reader.consumer.seek(partition, 2n)
          else reader.consumer.pause([partition])
        }
      },
    })
    await reader.untilRead(1)
    assert.deepEqual(reader.values, ['c'])
    reader.consumer.resume([{ topic, partition: 1 }])
    await reader.untilRead(4)
    assert.deepEqual(reader.values.slice(1), ['a', 'b', 'c'])
  })

  test('do not hold up a record larger than what is asked for', async (scene) => {
    const topic = await scene.createTopic('large')
    const large = 'x'.repeat(200_000)
    await scene.write(topic, ['before', large, 'after'])
    const reader = await scene.read({
      groupId: scene.named('large'),
      topics: [topic],
      partitionMaxBytes: 1_000,
      prefetchBytes: 1_000,
      prefetchRecords: 1,
    })
    await reader.untilRead(3)
    assert.ok(Buffer.from(reader.values[1] ?? '').equals(Buffer.from(large)))
    assert.deepEqual([reader.values[0], reader.values[2]], ['before', 'after'])
  })
}
