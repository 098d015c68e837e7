import { describeWith } from '@waybill/test-support'
import { kafkaClientSuite } from './client/kafka-client-suite.ts'
import { realHarness } from './real-harness.ts'
import { simHarness } from './sim-harness.ts'
import { vitestRunner } from './vitest-runner.ts'

kafkaClientSuite(simHarness({ brokers: 1, time: 'SYSTEM' }), vitestRunner)
kafkaClientSuite(simHarness({ brokers: 3, time: { seed: 1 } }), vitestRunner)
describeWith('kafka')('the client', ({ kafka }) => {
  const alone = { absent: 'the broker that all tests share stands alone' }
  kafkaClientSuite(realHarness('Apache Kafka', kafka, alone), vitestRunner)
})
