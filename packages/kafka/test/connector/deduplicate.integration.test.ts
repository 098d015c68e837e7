import { systemRuntime } from '@waybill/core'
import { createKafkaClient } from '@waybill/kafka'
import { describeWith } from '@waybill/test-support'
import { testDeduplication } from './deduplicate-behaviour.ts'

describeWith('kafka')('deduplicate on Apache Kafka', ({ kafka }) => {
  let topics = 0
  testDeduplication(async (program) => {
    await using client = createKafkaClient({ brokers: kafka.bootstrap })
    const createTopic = (partitions: number): Promise<string> =>
      kafka.createTopic(`deduplicate-${++topics}`, { partitions })
    await program({ client, runtime: systemRuntime, createTopic })
  })
})
