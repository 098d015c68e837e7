import { kafkaClientSuite } from '../conformance/client/kafka-client-suite.ts'
import { realHarness } from '../conformance/real-harness.ts'
import { kafkaTransportSuite } from '../conformance/transport/kafka-transport-suite.ts'
import { vitestRunner } from '../conformance/vitest-runner.ts'
import { describeWhole } from './support/describe-whole.ts'

describeWhole(3, 'Apache Kafka of three brokers', (service) => {
  const kafka = {
    get bootstrap() {
      return service().url.split(',')
    },
    named: (name: string) => name,
  }
  const harness = realHarness('Apache Kafka of three brokers', kafka, true)
  kafkaTransportSuite(harness, vitestRunner)
  kafkaClientSuite(harness, vitestRunner)
})
