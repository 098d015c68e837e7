import { describeWith } from '@waybill/test-support'
import { runOnKafka } from '../client/admin/admin-world.ts'
import { describeTopologyBehaviour } from './topology-behaviour.ts'

describeWith('kafka')('a topology and a real cluster', ({ kafka }) => {
  describeTopologyBehaviour((program) => runOnKafka(kafka, program))
})
