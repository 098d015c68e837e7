import assert from 'node:assert/strict'
import type { KafkaSuite } from '../kafka-harness.ts'
import { fetch } from './log-requests.ts'
import { append, askProducerId, initProducer, settledProducerId } from './producer-requests.ts'
import type { WireClient } from './wire-client.ts'

/** Tests of sequences and producer ids without transactions, which deduplicate repeated batches. */
export function idempotencePart({ describe, test }: KafkaSuite<WireClient>): void {
  describe('sequences', () => {
    test('answer a batch that is sent again with its old offset', async (wire) => {
      const topic = await wire.createTopic('again')
      const producer = await initProducer(wire, null)
      assert.equal((await append(wire, topic, producer, 0, ['a', 'b'])).baseOffset, 0n)
      assert.equal((await append(wire, topic, producer, 2, ['c'])).baseOffset, 2n)
      const { error, baseOffset } = await append(wire, topic, producer, 0, ['a', 'b'])
      assert.deepEqual({ error, baseOffset }, { error: 'NONE', baseOffset: 0n })
      assert.deepEqual((await fetch(wire, topic, 0n)).texts, ['0:a', '1:b', '2:c'])
    })

    test('know the last five batches of a producer', async (wire) => {
      const topic = await wire.createTopic('five')
      const producer = await initProducer(wire, null)
      for (let sequence = 0; sequence < 6; sequence++) await append(wire, topic, producer, sequence, ['x'])
      const offsets = await Promise.all(
        [1, 2, 3, 4, 5].map((sequence) => append(wire, topic, producer, sequence, ['x'])),
      )
      assert.deepEqual(
        offsets.map(({ error, baseOffset }) => `${error} ${baseOffset}`),
        ['NONE 1', 'NONE 2', 'NONE 3', 'NONE 4', 'NONE 5'],
      )
      assert.equal((await append(wire, topic, producer, 0, ['x'])).error, 'OUT_OF_ORDER_SEQUENCE_NUMBER')
    })

    test('refuse a batch that leaves one out', async (wire) => {
      const topic = await wire.createTopic('gap')
      const producer = await initProducer(wire, null)
      await append(wire, topic, producer, 0, ['a'])
      assert.equal((await append(wire, topic, producer, 2, ['c'])).error, 'OUT_OF_ORDER_SEQUENCE_NUMBER')
      assert.equal((await append(wire, topic, producer, 1, ['b'])).error, 'NONE')
    })

    test('may begin anywhere for a producer that the partition does not know', async (wire) => {
      const topic = await wire.createTopic('begin')
      const producer = await initProducer(wire, null)
      assert.equal((await append(wire, topic, producer, 7, ['a'])).error, 'NONE')
      assert.equal((await append(wire, topic, producer, 8, ['b'])).error, 'NONE')
    })
  })

  describe('producer ids', () => {
    test('are new each time for a producer without a transactional id', async (wire) => {
      const [one, other] = [await initProducer(wire, null), await initProducer(wire, null)]
      assert.notEqual(one.producerId, other.producerId)
      assert.deepEqual([one.producerEpoch, other.producerEpoch], [0, 0])
    })

    test('stay with a transactional id, and the epoch rises', async (wire) => {
      const id = wire.named('rises')
      const [one, other] = [await initProducer(wire, id), await initProducer(wire, id)]
      assert.equal(other.producerId, one.producerId)
      assert.deepEqual([one.producerEpoch, other.producerEpoch], [0, 1])
    })

    test('can be renewed by their owner, and by nobody who has lost them', async (wire) => {
      const id = wire.named('renewed')
      const former = await initProducer(wire, id)
      const owner = await initProducer(wire, id)
      assert.equal((await settledProducerId(wire, id, former)).error, 'PRODUCER_FENCED')
      assert.deepEqual(await initProducer(wire, id, owner), { ...owner, producerEpoch: owner.producerEpoch + 1 })
    })

    test('are given for transactions that end in time only', async (wire) => {
      const id = wire.named('in-time')
      await initProducer(wire, id)
      for (const timeoutMs of [0, 86_400_000]) {
        const { error } = await askProducerId(wire, id, undefined, timeoutMs)
        assert.equal(error, 'INVALID_TRANSACTION_TIMEOUT')
      }
    })
  })

  describe('an older producer epoch', () => {
    test('is refused once a newer one has written to the partition, and not before', async (wire) => {
      const topic = await wire.createTopic('fence')
      const id = wire.named('fence')
      const former = await initProducer(wire, id)
      assert.equal((await append(wire, topic, former, 0, ['former 0'])).error, 'NONE')
      const owner = await initProducer(wire, id)
      assert.equal((await append(wire, topic, former, 1, ['former 1'])).error, 'NONE', 'nobody has written yet')
      assert.equal((await append(wire, topic, owner, 0, ['owner 0'])).error, 'NONE')
      assert.equal((await append(wire, topic, former, 2, ['former 2'])).error, 'INVALID_PRODUCER_EPOCH')
      assert.equal((await append(wire, topic, former, 1, ['former 1'])).error, 'INVALID_PRODUCER_EPOCH', 'also again')
      assert.equal((await append(wire, topic, owner, 1, ['owner 1'])).error, 'NONE')
      assert.deepEqual((await fetch(wire, topic, 0n)).texts, ['0:former 0', '1:former 1', '2:owner 0', '3:owner 1'])
    })

    test('is refused in that partition alone', async (wire) => {
      const one = await wire.createTopic('fence-one')
      const other = await wire.createTopic('fence-other')
      const id = wire.named('fence-alone')
      const former = await initProducer(wire, id)
      const owner = await initProducer(wire, id)
      await append(wire, one, owner, 0, ['owner'])
      assert.equal((await append(wire, one, former, 0, ['former'])).error, 'INVALID_PRODUCER_EPOCH')
      assert.equal((await append(wire, other, former, 0, ['former'])).error, 'NONE')
    })

    test('begins again at sequence 0', async (wire) => {
      const topic = await wire.createTopic('fence-sequence')
      const id = wire.named('fence-sequence')
      const former = await initProducer(wire, id)
      await append(wire, topic, former, 0, ['former'])
      const owner = await initProducer(wire, id)
      assert.equal((await append(wire, topic, owner, 1, ['owner'])).error, 'OUT_OF_ORDER_SEQUENCE_NUMBER')
      assert.equal((await append(wire, topic, owner, 0, ['owner'])).error, 'NONE')
    })
  })
}
