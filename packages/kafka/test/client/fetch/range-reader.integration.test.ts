import { createKafkaClient } from '@waybill/kafka'
import { describeWith } from '@waybill/test-support'
import { testRangeReader } from './range-reader-behaviour.ts'

describeWith('kafka')('a range reader on Apache Kafka', ({ kafka }) => {
  let topics = 0
  testRangeReader(async (program) => {
    await using client = createKafkaClient({ brokers: kafka.bootstrap })
    const createTopic = (partitions: number): Promise<string> => kafka.createTopic(`range-${++topics}`, { partitions })
    await program({ client, createTopic })
  })
})
