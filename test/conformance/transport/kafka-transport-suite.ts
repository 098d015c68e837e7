import type { SuiteRunner } from '@waybill/testkit/conformance'
import { declareSuite } from '@waybill/testkit/internal'
import type { KafkaHarness } from '../kafka-harness.ts'
import { adminPart } from './admin-part.ts'
import { connectionPart } from './connection-part.ts'
import { groupPart } from './group-part.ts'
import { idempotencePart } from './idempotence-part.ts'
import { logPart } from './log-part.ts'
import { offsetPart } from './offset-part.ts'
import { transactionPart } from './transaction-part.ts'
import { WireClient } from './wire-client.ts'

/**
 * Declares the tests of single requests to a cluster: each behavior of Apache Kafka that the client relies on, including
 * error codes. Simulated and real clusters must give the same responses.
 */
export function kafkaTransportSuite(harness: KafkaHarness, runner: SuiteRunner): void {
  declareSuite('what a Kafka cluster answers', harness, runner, (cluster) => new WireClient(cluster), [
    connectionPart,
    logPart,
    idempotencePart,
    transactionPart,
    groupPart,
    offsetPart,
    adminPart,
  ])
}
