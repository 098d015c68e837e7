export { kafkaClientSuite } from './client/kafka-client-suite.ts'
export type { ClusterUnderTest, KafkaCapabilities, KafkaCapability, KafkaHarness } from './kafka-harness.ts'
export type { SuiteRunner } from './suite-runner.ts'
export { kafkaTransportSuite } from './transport/kafka-transport-suite.ts'
