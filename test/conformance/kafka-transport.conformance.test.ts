import { describeWith } from '@waybill/test-support'
import { realHarness } from './real-harness.ts'
import { simHarness } from './sim-harness.ts'
import { kafkaTransportSuite } from './transport/kafka-transport-suite.ts'
import { vitestRunner } from './vitest-runner.ts'

kafkaTransportSuite(simHarness({ brokers: 1, time: 'SYSTEM' }), vitestRunner)
kafkaTransportSuite(simHarness({ brokers: 1, time: 'SYSTEM', throughChannel: true }), vitestRunner)
kafkaTransportSuite(simHarness({ brokers: 3, time: { seed: 1 } }), vitestRunner)
describeWith('kafka')('the transport', ({ kafka }) => {
  const alone = { absent: 'the broker that all tests share stands alone' }
  kafkaTransportSuite(realHarness('Apache Kafka', kafka, alone), vitestRunner)
})
