import { systemRuntime } from '@waybill/core'
import { createKafkaClient } from '@waybill/kafka'
import { describeWith } from '@waybill/test-support'
import { testKeyOrder } from './key-order-behaviour.ts'

describeWith('kafka')('orderingMode KEY on Apache Kafka', ({ kafka }) => {
  let topics = 0
  testKeyOrder(async (program) => {
    await using client = createKafkaClient({ brokers: kafka.bootstrap })
    const createTopic = (partitions: number): Promise<string> =>
      kafka.createTopic(`key-order-${++topics}`, { partitions })
    await program({ client, runtime: systemRuntime, createTopic })
  })
})
