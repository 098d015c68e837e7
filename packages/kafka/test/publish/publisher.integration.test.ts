import { systemRuntime } from '@waybill/core'
import { createKafkaClient } from '@waybill/kafka'
import { describeWith } from '@waybill/test-support'
import { testPublisher } from './publisher-behaviour.ts'

describeWith('kafka')('a publisher on Apache Kafka', ({ kafka }) => {
  let topics = 0
  testPublisher(async (program) => {
    await using client = createKafkaClient({ brokers: kafka.bootstrap })
    const createTopic = (): Promise<string> => kafka.createTopic(`shipments-${++topics}`, { partitions: 4 })
    await program({ kafka: client, runtime: systemRuntime, createTopic })
  })
})
