import { errorCode, type ProduceRequest } from '@waybill/kafka/wire'
import { describeWith } from '@waybill/test-support'
import { createFaultProxy } from '@waybill/testkit'
import { expect, test } from 'vitest'
import type { Leader } from '../../../src/client/cluster/cluster.ts'
import { createProducer } from '../../../src/client/producer/create-producer.ts'
import { expectExactlyOnce, sendFromMany, testProducer, textRecord } from './producer-behaviour.ts'
import { runOnKafka } from './world.ts'

describeWith('kafka')('a producer on Apache Kafka', (places) => {
  testProducer((program) => runOnKafka(places.kafka, program))

  test('loses, repeats and reorders nothing while its connections are cut every 20 ms', async () => {
    const port = Number(places.kafka.bootstrap[0]?.split(':')[1])
    await using proxy = createFaultProxy({ target: { port } })
    await proxy.start()
    const program: Parameters<typeof runOnKafka>[1] = async (world) => {
      const topic = await world.createTopic(4)
      const producer = createProducer(world.client(), 'EVENT', { retryBackoffMs: 5 })
      await producer.send(textRecord(topic, 'x:0', 0))
      let cuts = 0
      const cutting = setInterval(() => {
        proxy.cut()
        cuts++
      }, 20)
      const acknowledged = await sendFromMany(producer, topic, { callers: 200, each: 20, partitions: 4 })
      clearInterval(cutting)
      await producer.close()
      expect(cuts).toBeGreaterThan(0)
      await expectExactlyOnce(world, topic, 4, [{ value: 'x:0', partition: 0, offset: 0n }, ...acknowledged])
    }
    await runOnKafka(places.kafka, program, { port: proxy.port })
  })

  test('recovers after its network was dead for longer than a request timeout', async () => {
    const port = Number(places.kafka.bootstrap[0]?.split(':')[1])
    await using proxy = createFaultProxy({ target: { port } })
    await proxy.start()
    const program: Parameters<typeof runOnKafka>[1] = async (world) => {
      const topic = await world.createTopic(2)
      const producer = createProducer(world.client(), 'EVENT', { retryBackoffMs: 20, requestTimeoutMs: 300 })
      await producer.send(textRecord(topic, 'x:0', 0))
      // Requests arrive and are served; their answers do not.
      proxy.drop('TO_CLIENT')
      const sending = sendFromMany(producer, topic, { callers: 50, each: 4, partitions: 2 })
      await world.runtime.timers.sleep(1_000)
      proxy.heal()
      const acknowledged = await sending
      await producer.close()
      await expectExactlyOnce(world, topic, 2, [{ value: 'x:0', partition: 0, offset: 0n }, ...acknowledged])
    }
    await runOnKafka(places.kafka, program, { port: proxy.port })
  })

  test('the broker refuses what is unknown once a later record is written under the next epoch', async () => {
    await runOnKafka(places.kafka, async (world) => {
      const topic = await world.createTopic(1)
      await using producer = createProducer(world.client(), 'EVENT', {
        deliveryTimeoutMs: 600,
        requestTimeoutMs: 300,
        compression: 'NONE',
      })
      await producer.send(textRecord(topic, 'before'))
      // The attempts for one record are caught on their way, and arrive when a later record is in the log.
      const caught: ProduceRequest[] = []
      world.transport.onRequest = async (api, request) => {
        if (api !== 'Produce') return
        caught.push(request as ProduceRequest)
        await new Promise(() => {})
      }
      await expect(producer.send(textRecord(topic, 'unknown'))).rejects.toMatchObject({ kind: 'UNKNOWN' })
      world.transport.onRequest = undefined
      await producer.send(textRecord(topic, 'after'))
      expect(caught.length).toBeGreaterThan(0)
      const { cluster, nodes } = world.client()
      const leader = (await cluster.topics([topic], 5_000)).get(topic)?.leaders[0]
      for (const late of caught) {
        const answer = await nodes.send(leader as Leader, 'Produce', late, 5_000)
        expect(answer.topics[0]?.partitions[0]?.errorCode).toBe(errorCode.INVALID_PRODUCER_EPOCH)
      }
      await producer.send(textRecord(topic, 'end'))
      expect((await world.readLog(topic, 0)).map(({ value }) => value)).toEqual(['before', 'after', 'end'])
    })
  })
})
