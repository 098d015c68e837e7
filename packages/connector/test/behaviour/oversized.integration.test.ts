import { describeWith } from '@waybill/test-support'
import { inKafka } from '../support/kafka-world.ts'
import { testOversizedBatches } from './oversized-behaviour.ts'

describeWith('kafka')('maxBatchBytes on Apache Kafka', ({ kafka }) => {
  testOversizedBatches(inKafka(kafka, 'oversized'))
})
