import { systemRuntime } from '@waybill/core'
import { createKafkaClient } from '@waybill/kafka'
import { describeWith } from '@waybill/test-support'
import { allDone } from '../../src/client/admin/outcome.ts'
import { testBatches } from './batch-behaviour.ts'

describeWith('kafka')('listenerType BATCH on Apache Kafka', ({ kafka }) => {
  let topics = 0
  testBatches(async (program) => {
    await using client = createKafkaClient({ brokers: kafka.bootstrap })
    const createTopic = (partitions: number): Promise<string> => kafka.createTopic(`batch-${++topics}`, { partitions })
    // A compacted topic takes no record without a key.
    const policy = async (topic: string, value: string): Promise<void> =>
      void allDone('the policy', await client.admin.alterConfigs({ [topic]: { 'cleanup.policy': value } }))
    const refuse = async (topic: string): Promise<() => Promise<void>> => {
      await policy(topic, 'compact')
      return () => policy(topic, 'delete')
    }
    await program({ client, runtime: systemRuntime, createTopic, refuse })
  })
})
