import { Buffer } from 'node:buffer'
import type { ProduceRequest } from '@waybill/kafka/wire'
import { describe, expect, test } from 'vitest'
import { createProducer } from '../../../src/client/producer/create-producer.ts'
import { createTransactionalProducer } from '../../../src/client/producer/transactional-producer.ts'
import { textRecord } from './producer-behaviour.ts'
import { runInSimulation } from './world.ts'

/** A buffer that is measured when it is sent, and longer when its batch is made. */
function growingBuffer(): { readonly value: Buffer; readonly grow: () => void } {
  const bytes = new ArrayBuffer(1, { maxByteLength: 1_000 })
  const value = Object.setPrototypeOf(new Uint8Array(bytes), Buffer.prototype) as Buffer
  return { value, grow: () => bytes.resize(1_000) }
}

describe('a batch that cannot be encoded', () => {
  test('fails alone', () =>
    runInSimulation(async (world) => {
      const topic = await world.createTopic(1)
      await using producer = createProducer(world.client(), 'EVENT', { batchBytes: 1 })
      await producer.send(textRecord(topic, 'before', 0))
      const { value, grow } = growingBuffer()
      const bad = producer.send({ topic, partition: 0, key: null, value })
      const behind = producer.send(textRecord(topic, 'behind', 0))
      grow()
      await expect(bad).rejects.toMatchObject({ kind: 'FATAL', cause: { name: 'RangeError' } })
      expect(await behind).toEqual({ partition: 0, offset: 1n })
      expect(world.runtime.clock.monotonic()).toBeLessThan(100)
      expect((await world.readLog(topic, 0)).map((one) => one.value)).toEqual(['before', 'behind'])
    }))

  test('fails alone, also when it shares a batch', () =>
    runInSimulation(async (world) => {
      const topic = await world.createTopic(1)
      await using producer = createProducer(world.client())
      await producer.send(textRecord(topic, 'before', 0))
      const { value, grow } = growingBuffer()
      const send = (text: string): Promise<unknown> => producer.send(textRecord(topic, text, 0))
      const front = [send('1'), send('2'), send('3')]
      const bad = producer.send({ topic, partition: 0, key: null, value })
      const behind = [send('4'), send('5')]
      grow()
      await expect(bad).rejects.toMatchObject({ kind: 'FATAL', scope: 'RECORD' })
      await Promise.all([...front, ...behind])
      expect((await world.readLog(topic, 0)).map((one) => one.value)).toEqual(['before', '1', '2', '3', '4', '5'])
    }))

  test('fails its transaction, also while other records linger, and the next one works', () =>
    runInSimulation(async (world) => {
      const topic = await world.createTopic(3)
      await using producer = createTransactionalProducer(world.client(), 'tx', { lingerMs: 1_000 })
      await producer.begin()
      await Promise.all([0, 1, 2].map((partition) => producer.send(textRecord(topic, 'before', partition))))
      const { value, grow } = growingBuffer()
      const writtenTo: number[] = []
      world.transport.onRequest = (api, request) => {
        if (api !== 'Produce') return
        const { topics } = request as ProduceRequest
        writtenTo.push(...topics.flatMap((one) => one.partitions.map(({ partitionIndex }) => partitionIndex)))
      }
      const lingering = [1, 2].map((index) => producer.send(textRecord(topic, `lingers ${index}`, 1)))
      const sent = producer.send(textRecord(topic, 'in the same turn', 2))
      const bad = producer.send({ topic, partition: 0, key: null, value })
      grow()
      const reason = { kind: 'ABORTABLE' }
      expect(await Promise.allSettled([bad, ...lingering])).toMatchObject([{ reason }, { reason }, { reason }])
      expect(await sent).toEqual({ partition: 2, offset: 1n })
      expect(writtenTo).toEqual([2])
      await expect(producer.commit()).rejects.toMatchObject({ kind: 'ABORTABLE' })
      await producer.begin()
      await producer.send(textRecord(topic, 'next', 1))
      await producer.commit()
      await world.runtime.timers.sleep(100)
      expect((await world.readLog(topic, 1, 'READ_COMMITTED')).map((one) => one.value)).toEqual(['next'])
    }))
})
