import type { SuiteRunner } from '@waybill/testkit/conformance'
import { declareSuite } from '@waybill/testkit/internal'
import type { KafkaHarness } from '../kafka-harness.ts'
import { groupPart } from './client-group-part.ts'
import { ClientScene } from './client-scene.ts'
import { transactionPart } from './client-transaction-part.ts'
import { recordPart } from './record-part.ts'
import { topicPart } from './topic-part.ts'

/**
 * What our client promises to its users: records as they were written, each handed out once unless somebody dies, commits
 * that tell the truth, transactions that are whole or nothing. On whatever stands behind the transport.
 */
export function kafkaClientSuite(harness: KafkaHarness, runner: SuiteRunner): void {
  const parts = [recordPart, groupPart, topicPart, transactionPart]
  declareSuite('what the client promises', harness, runner, (cluster) => new ClientScene(cluster), parts)
}
