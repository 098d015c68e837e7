import { createKafkaClient } from '@waybill/kafka'
import { describeWith } from '@waybill/test-support'
import { testCommittedLedger } from './committed-ledger-behaviour.ts'

describeWith('kafka')('a ledger committed to Apache Kafka', ({ kafka }) => {
  let count = 0
  testCommittedLedger(async (program) => {
    const name = `orders-${++count}`
    await using client = createKafkaClient({ brokers: kafka.bootstrap })
    const topic = await kafka.createTopic(name, { partitions: 1 })
    await program({ kafka: client, topic, groupId: kafka.named(name) })
  })
})
