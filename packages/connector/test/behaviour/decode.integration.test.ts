import { describeWith } from '@waybill/test-support'
import { inKafka } from '../support/kafka-world.ts'
import { testDecode } from './decode-behaviour.ts'

describeWith('kafka')('decode on Apache Kafka', ({ kafka }) => {
  testDecode(inKafka(kafka, 'decode'))
})
