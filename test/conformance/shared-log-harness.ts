import { systemRuntime } from '@waybill/core'
import { createKafkaClient, createTopicLog } from '@waybill/kafka'
import { createSharedLog } from '@waybill/sql'
import type { SharedLogHarness } from '@waybill/testkit/conformance'
import type { AdminDatabases } from './admin-harness.ts'
import type { KafkaHarness } from './kafka-harness.ts'

/** A log on the tables of operators. */
export function sqlLogHarness(name: string, databases: AdminDatabases): SharedLogHarness {
  return {
    name,
    capabilities: {},
    run: (test) =>
      databases(([one, other]) =>
        test({
          logs: [createSharedLog(one, { pollMs: 50 }), createSharedLog(other, { pollMs: 50 })],
          runtime: systemRuntime,
        }),
      ),
  }
}

/** A log on a topic, which the first of two clients creates. */
export function topicLogHarness(kafka: KafkaHarness): SharedLogHarness {
  return {
    name: kafka.name,
    capabilities: {},
    run: (test) =>
      kafka.run(async (cluster) => {
        const { brokers, transport, runtime } = cluster
        const topic = cluster.named('control')
        await using one = createKafkaClient({ brokers, transport, runtime })
        await using other = createKafkaClient({ brokers, transport, runtime })
        const logOf = (client: typeof one) => createTopicLog({ client, topic, runtime })
        await test({ logs: [logOf(one), logOf(other)], runtime })
      }),
  }
}
