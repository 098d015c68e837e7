import assert from 'node:assert/strict'
import type { OffsetCommit } from '@waybill/kafka/internal'
import type { KafkaSuite } from '../kafka-harness.ts'
import { type ClientScene, kafkaErrorOf, textRecord } from './client-scene.ts'

/** Tests of transactions, as producer and as reader. */
export function transactionPart(suite: KafkaSuite<ClientScene>): void {
  suite.describe('a reader of transactions', () => readerTests(suite))
  suite.describe('a transaction', () => producerTests(suite))
  suite.describe('offsets in a transaction', () => offsetTests(suite))
}

function readerTests({ test }: KafkaSuite<ClientScene>): void {
  test('never sees what was aborted: two of one producer in one fetch', async (scene) => {
    const topic = await scene.createTopic('aborted')
    const producer = await scene.transaction('aborted')
    for (const value of ['aborted 1', 'aborted 2']) {
      await producer.send(textRecord(topic, value))
      await producer.abort()
      await producer.begin()
    }
    await producer.send(textRecord(topic, 'committed'))
    await producer.commit()
    await scene.write(topic, ['plain'])
    const reader = await scene.read({ groupId: scene.named('aborted'), topics: [topic] })
    await reader.untilRead(2)
    assert.deepEqual(reader.values, ['committed', 'plain'])
  })

  for (const partitionMaxBytes of [1, 5_000, 1_000_000])
    test(`never sees what was aborted, wherever the marker lies: ${partitionMaxBytes} bytes a fetch`, async (scene) => {
      const topic = await scene.createTopic('marker')
      const [one, other] = [await scene.transaction('one'), await scene.transaction('other')]
      const expected: string[] = []
      for (let round = 0; round < 4; round++) {
        const [aborted, committed] = round % 2 === 0 ? [one, other] : [other, one]
        for (let index = 0; index < 3; index++) {
          // The marker lies further away than a broker's index is coarse.
          await aborted.send(textRecord(topic, `aborted ${round}.${index} ${'x'.repeat(4_000)}`))
          await committed.send(textRecord(topic, `committed ${round}.${index}`))
          expected.push(`committed ${round}.${index}`)
        }
        await scene.write(topic, [`plain ${round}`])
        expected.push(`plain ${round}`)
        await Promise.all([aborted.abort(), committed.commit()])
        await Promise.all([aborted.begin(), committed.begin()])
      }
      const reader = await scene.read({ groupId: scene.named('marker'), topics: [topic], partitionMaxBytes })
      await reader.untilRead(expected.length)
      assert.deepEqual(reader.values, expected)
      const [end] = await scene.kafka.admin.listOffsets([{ topic, partition: 0 }], 'LATEST')
      await scene.until(
        async () => [await reader.poll(), reader.consumer.position({ topic, partition: 0 })] as const,
        ([records, position]) => records.length === 0 && end?.outcome === 'DONE' && position === end.offset,
      )
    })

  test('waits for an open transaction, with all behind it, and for nothing else', async (scene) => {
    const topic = await scene.createTopic('open', { partitions: 2 })
    const producer = await scene.transaction('open')
    await producer.send(textRecord(topic, 'inside'))
    await scene.write(topic, ['behind'])
    await scene.write(topic, ['elsewhere'], 1)
    const reader = await scene.read({ groupId: scene.named('open'), topics: [topic] })
    await reader.untilRead(1)
    await reader.poll()
    assert.deepEqual(reader.values, ['elsewhere'])
    await producer.commit()
    await reader.untilRead(3)
    assert.deepEqual(reader.values.slice(1), ['inside', 'behind'])
  })
}

function producerTests({ test }: KafkaSuite<ClientScene>): void {
  test('over several partitions is visible whole', async (scene) => {
    const topic = await scene.createTopic('whole', { partitions: 3 })
    const producer = await scene.transaction('whole')
    await Promise.all([0, 1, 2].map((partition) => producer.send(textRecord(topic, `in ${partition}`, partition))))
    await producer.commit()
    const reader = await scene.read({ groupId: scene.named('whole'), topics: [topic] })
    await reader.untilRead(3)
    assert.deepEqual(reader.values.toSorted(), ['in 0', 'in 1', 'in 2'])
  })

  test('with a record that failed cannot commit, and the next one can', async (scene) => {
    const topic = await scene.createTopic('failed', { configs: { 'max.message.bytes': '2000' } })
    const producer = await scene.transaction('failed')
    await producer.send(textRecord(topic, 'lost with the rest'))
    await kafkaErrorOf(producer.send(textRecord(topic, 'x'.repeat(3_000))), 'ABORTABLE')
    await kafkaErrorOf(producer.commit(), 'ABORTABLE')
    await producer.begin()
    await producer.send(textRecord(topic, 'committed'))
    await producer.commit()
    const reader = await scene.read({ groupId: scene.named('failed'), topics: [topic] })
    await reader.untilRead(1)
    assert.deepEqual(reader.values, ['committed'])
  })

  test('of a former incarnation is aborted, and that one is fenced', async (scene) => {
    const topic = await scene.createTopic('restart')
    const former = await scene.transaction('restart')
    await former.send(textRecord(topic, 'of the former'))
    const latter = await scene.transaction('restart', scene.anotherClient())
    await latter.send(textRecord(topic, 'of the latter'))
    await kafkaErrorOf(former.send(textRecord(topic, 'late')), 'FENCED')
    await kafkaErrorOf(former.commit(), 'FENCED')
    await kafkaErrorOf(former.begin(), 'FENCED')
    await latter.commit()
    const reader = await scene.read({ groupId: scene.named('restart'), topics: [topic] })
    await reader.untilRead(1)
    await scene.write(topic, ['end'])
    await reader.untilRead(2)
    assert.deepEqual(reader.values, ['of the latter', 'end'])
  })

  test('that is empty commits and aborts', async (scene) => {
    const producer = await scene.transaction('empty')
    await producer.commit()
    await producer.begin()
    await producer.abort()
  })
}

function offsetTests({ test }: KafkaSuite<ClientScene>): void {
  test('of several partitions are committed with it, or not at all', async (scene) => {
    const source = await scene.createTopic('source', { partitions: 3 })
    const sink = await scene.createTopic('sink')
    const options = { groupId: scene.named('together'), topics: [source] }
    const partitions = [0, 1, 2].map((partition) => ({ topic: source, partition }))
    for (const { partition } of partitions) await scene.write(source, ['a', 'b'], partition)
    const reader = await scene.read({ ...options, commitsOnRevoke: false })
    await reader.untilRead(6)
    const group = reader.consumer.groupMetadata()
    const epoch = reader.records[0]?.epoch ?? -1
    const offsets = (offset: bigint): OffsetCommit[] => partitions.map((one) => ({ ...one, offset, epoch }))
    const remembered = async (): Promise<string> =>
      (await reader.consumer.committed(partitions)).map(({ offset }) => offset).join()
    const producer = await scene.transaction('together')
    await producer.send(textRecord(sink, 'aborted'))
    await producer.sendOffsets(offsets(1n), group)
    await producer.abort()
    assert.equal(await remembered(), ',,')
    await producer.begin()
    await producer.send(textRecord(sink, 'committed'))
    await producer.sendOffsets(offsets(2n), group)
    await producer.commit()
    assert.equal(await remembered(), '2,2,2')
    await reader.stop()
    const next = await scene.read(options)
    await scene.write(source, ['c'], 1)
    await next.untilRead(1)
    assert.deepEqual(next.values, ['c'])
  })

  test('do not replace one that was set after them: what was sent last stays', async (scene) => {
    const topic = await scene.createTopic('set-later')
    const groupId = scene.named('set-later')
    const { admin } = scene.kafka
    const producer = await scene.transaction('set-later')
    const nobody = { groupId, generationId: -1, memberId: '', instanceId: null }
    await producer.sendOffsets([{ topic, partition: 0, epoch: 0, offset: 4n, metadata: 'in it' }], nobody)
    await admin.alterGroupOffsets(groupId, [{ topic, partition: 0, offset: 3n, metadata: 'later' }])
    await producer.commit()
    // The coordinator assigns the next epoch once the previous transaction has completed.
    await scene.transaction('set-later', scene.anotherClient())
    const [offset] = await admin.groupOffsets(groupId, [{ topic, partition: 0 }])
    assert.deepEqual(offset?.outcome === 'DONE' && [offset.committed, offset.metadata], [3n, 'later'])
  })

  test('of a member that was expelled are refused, and the transaction with them', async (scene) => {
    const source = await scene.createTopic('stale-source')
    const sink = await scene.createTopic('stale-sink')
    const groupId = scene.named('stale')
    await scene.write(source, ['a'])
    const zombie = await scene.read({ groupId, topics: [source] })
    await zombie.untilRead(1)
    const group = zombie.consumer.groupMetadata()
    await zombie.stop()
    const owner = await scene.read({ groupId, topics: [source] })
    await owner.untilOwned(1)
    const producer = await scene.transaction('stale')
    await producer.send(textRecord(sink, 'of the zombie'))
    const late = [{ topic: source, partition: 0, offset: 0n, epoch: 1 }]
    await kafkaErrorOf(producer.sendOffsets(late, group), 'ABORTABLE')
    await kafkaErrorOf(producer.commit(), 'ABORTABLE')
    assert.equal((await owner.consumer.committed([{ topic: source, partition: 0 }]))[0]?.offset, 1n)
    await producer.begin()
    await producer.send(textRecord(sink, 'after'))
    await producer.commit()
    const reader = await scene.read({ groupId: scene.named('stale-reader'), topics: [sink] })
    await reader.untilRead(1)
    assert.deepEqual(reader.values, ['after'])
  })
  test('of a partition that went to another member are refused, and the transaction with them', async (scene) => {
    const source = await scene.createTopic('moved-source', { partitions: 2 })
    const groupId = scene.named('moved')
    for (const partition of [0, 1]) await scene.write(source, ['a', 'b'], partition)
    const former = await scene.read({ groupId, topics: [source] })
    await former.untilRead(4)
    former.run()
    const owner = await scene.read({ groupId, topics: [source] }, scene.anotherClient())
    owner.run()
    await owner.untilOwned(1)
    await former.untilOwned(1)
    const [moved] = owner.consumer.assignment()
    const handedOut = former.records.find(({ partition }) => partition === moved?.partition)
    assert.ok(moved !== undefined && handedOut !== undefined)
    const { topic, partition, epoch } = handedOut
    // The generation is current: only the member itself knows that it has released the partition.
    const group = former.consumer.groupMetadata()
    const producer = await scene.transaction('moved')
    await kafkaErrorOf(producer.sendOffsets([{ topic, partition, offset: 1n, epoch }], group), 'ABORTABLE')
    await kafkaErrorOf(producer.commit(), 'ABORTABLE')
    assert.equal((await owner.consumer.committed([moved]))[0]?.offset, 2n)
    await former.stop()
    await owner.stop()
  })
}
