import { requireAllDone } from '@waybill/kafka'
import { describeWith } from '@waybill/test-support'
import { inKafka } from '../support/kafka-world.ts'
import { testBatches } from './batch-behaviour.ts'

describeWith('kafka')('listenerType BATCH on Apache Kafka', ({ kafka }) => {
  const inPlace = inKafka(kafka, 'batch')
  testBatches((program) =>
    inPlace(async (place) => {
      // A compacted topic takes no record without a key.
      const policy = async (topic: string, value: string): Promise<void> =>
        void requireAllDone(
          'the policy',
          await place.client.admin.alterConfigs({ [topic]: { 'cleanup.policy': value } }),
        )
      const refuse = async (topic: string): Promise<() => Promise<void>> => {
        await policy(topic, 'compact')
        return () => policy(topic, 'delete')
      }
      await program({ ...place, refuse })
    }),
  )
})
