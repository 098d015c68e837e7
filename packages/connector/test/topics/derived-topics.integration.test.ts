import { describeWith } from '@waybill/test-support'
import { runOnKafka } from '@waybill/test-support/kafka'
import { describeDerivedTopics } from './derived-topics-behaviour.ts'

describeWith('kafka')('derived topics on a real cluster', ({ kafka }) => {
  describeDerivedTopics((program) => runOnKafka(kafka, program))
})
