import { describeWith } from '@waybill/test-support'
import { runOnKafka } from '@waybill/test-support/kafka'
import { describeTopologyBehaviour } from './topology-behaviour.ts'

describeWith('kafka')('a topology and a real cluster', ({ kafka }) => {
  describeTopologyBehaviour((program) => runOnKafka(kafka, program))
})
