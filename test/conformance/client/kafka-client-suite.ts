import type { SuiteRunner } from '@waybill/testkit/conformance'
import { declareSuite } from '@waybill/testkit/internal'
import type { KafkaHarness } from '../kafka-harness.ts'
import { groupPart } from './client-group-part.ts'
import { ClientScene } from './client-scene.ts'
import { transactionPart } from './client-transaction-part.ts'
import { recordPart } from './record-part.ts'
import { topicPart } from './topic-part.ts'

/**
 * Declares the tests of the Kafka client on any cluster: records are read as they were written, and once unless a member
 * fails; commits are accurate; transactions are atomic.
 */
export function kafkaClientSuite(harness: KafkaHarness, runner: SuiteRunner): void {
  const parts = [recordPart, groupPart, topicPart, transactionPart]
  declareSuite('what the client promises', harness, runner, (cluster) => new ClientScene(cluster), parts)
}
