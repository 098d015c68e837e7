import { errorCode } from '@waybill/kafka/wire'
import { describe, expect, test } from 'vitest'
import { createProducer } from '../../../src/client/producer/create-producer.ts'
import type { Producer } from '../../../src/client/producer/producer.ts'
import { textRecord } from './producer-behaviour.ts'
import { runInSimulation, type World } from './world.ts'

describe('a partition that does not exist', () => {
  test('is refused when the cluster had time to make it, however high its number', () =>
    runInSimulation(async (world) => {
      const topic = await world.createTopic(1)
      await using producer = createProducer(world.client())
      const refused = producer.send(textRecord(topic, 'nowhere', 2 ** 31 - 1))
      const beside = producer.send(textRecord(topic, 'beside', 0))
      await expect(refused).rejects.toMatchObject({ reason: 'UNKNOWN_TOPIC_OR_PARTITION' })
      expect(await beside).toEqual({ partition: 0, offset: 0n })
    }))
})

/** Adds partitions with another client than the producer's. */
async function grow(world: World, topic: string, count: number): Promise<void> {
  const request = { topics: [{ name: topic, count }], timeoutMs: 5_000, validateOnly: false }
  const answer = await world.client().cluster.anyNode('CreatePartitions', request, 5_000)
  expect(answer.topics).toMatchObject([{ errorCode: errorCode.NONE }])
}

/** Returns the partitions of records without a key. */
async function spread(producer: Producer, topic: string): Promise<Set<number>> {
  const used = new Set<number>()
  for (let index = 0; index < 20; index++) used.add((await producer.send(textRecord(topic, `${index}`))).partition)
  return used
}

describe('a topic that gets more partitions', () => {
  test('is looked at again while it is written to, and records go to all of them', () =>
    runInSimulation(async (world) => {
      const topic = await world.createTopic(2)
      await using producer = createProducer(world.client())
      await producer.send(textRecord(topic, 'first'))
      await grow(world, topic, 5)
      const requests = world.transport.requests.length
      expect(await spread(producer, topic)).toEqual(new Set([0, 1]))
      expect(world.transport.requests.slice(requests)).not.toContain('Metadata')
      await world.runtime.timers.sleep(300_000)
      await producer.send(textRecord(topic, 'looks again'))
      await world.runtime.timers.sleep(100)
      expect(await spread(producer, topic)).toEqual(new Set([0, 1, 2, 3, 4]))
      expect(world.transport.requests.slice(requests).filter((api) => api === 'Metadata')).toHaveLength(1)
    }))

  test('takes records at once for a partition that was not known', () =>
    runInSimulation(async (world) => {
      const topic = await world.createTopic(2)
      await using producer = createProducer(world.client())
      await producer.send(textRecord(topic, 'first'))
      await grow(world, topic, 5)
      const start = world.runtime.clock.monotonic()
      expect(await producer.send(textRecord(topic, 'new', 4))).toEqual({ partition: 4, offset: 0n })
      expect(world.runtime.clock.monotonic() - start).toBeLessThan(100)
      expect(await spread(producer, topic)).toEqual(new Set([0, 1, 2, 3, 4]))
    }))

  test('continues with the cached metadata when the refresh gets no response', () =>
    runInSimulation(async (world, sim) => {
      const topic = await world.createTopic(2)
      await using producer = createProducer(world.client())
      await producer.send(textRecord(topic, 'first'))
      await world.runtime.timers.sleep(300_000)
      const unanswered = sim.dropResponses({ api: 'Metadata' })
      expect(await spread(producer, topic)).toEqual(new Set([0, 1]))
      unanswered[Symbol.dispose]()
    }))
})

describe('a topic with unknown leaders', () => {
  test('is not taken for one that is not there, however long that lasts', () =>
    runInSimulation(async (world, sim) => {
      const topic = await world.createTopic(1)
      await using producer = createProducer(world.client(), 'EVENT', { unknownTopicWaitMs: 500 })
      sim.setFaults({ rates: { Metadata: { error: 1 } } })
      const written = producer.send(textRecord(topic, 'patient'))
      await world.runtime.timers.sleep(5_000)
      sim.setFaults(false)
      expect(await written).toEqual({ partition: 0, offset: 0n })
    }))
})

describe('a topic that the user may not see', () => {
  test('is refused at once and by name, and is asked for again with the next record', () =>
    runInSimulation(async (world, sim) => {
      const topic = await world.createTopic(1)
      await using producer = createProducer(world.client())
      sim.failNext('Metadata', errorCode.TOPIC_AUTHORIZATION_FAILED)
      const sends = [undefined, 0].map((partition) => producer.send(textRecord(topic, 'forbidden', partition)))
      const reason = { kind: 'FATAL', reason: 'TOPIC_AUTHORIZATION_FAILED' }
      expect(await Promise.allSettled(sends)).toMatchObject([{ reason }, { reason }])
      expect(world.runtime.clock.monotonic()).toBeLessThan(100)
      expect(await producer.send(textRecord(topic, 'allowed'))).toEqual({ partition: 0, offset: 0n })
    }))
})
