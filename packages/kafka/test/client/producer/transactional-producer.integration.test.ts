import { describeWith } from '@waybill/test-support'
import { testTransactionalProducer } from './transactional-behaviour.ts'
import { runOnKafka } from './world.ts'

describeWith('kafka')('a transactional producer on Apache Kafka', (places) => {
  testTransactionalProducer((program) => runOnKafka(places.kafka, program))
})
