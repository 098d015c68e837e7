import { describeWith } from '@waybill/test-support'
import { testFencedAppender } from './fenced-appender-behaviour.ts'
import { runOnKafka } from './world.ts'

describeWith('kafka')('a fenced appender on Apache Kafka', (places) => {
  testFencedAppender((program) => runOnKafka(places.kafka, program))
})
