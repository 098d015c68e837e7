import { createConnector } from '@waybill/connector'
import { NonRetryableError, noopLogger, runtimeWith } from '@waybill/core'
import { createKafkaClient } from '@waybill/kafka'
import { describeWith } from '@waybill/test-support'
import { eventually } from '@waybill/testkit'
import { expect, test } from 'vitest'
import { committedOf, endOf, inKafka, placeOf, write } from '../support/kafka-world.ts'
import { openAdministration } from '../support/open-administration.ts'
import { testReplay } from './replay-behaviour.ts'

describeWith('kafka')('dead letters on Apache Kafka', ({ kafka }) => {
  testReplay(inKafka(kafka, 'replay'))

  test('C-79 the schedules of two instances replay each dead letter once', async () => {
    await using client = createKafkaClient({ brokers: kafka.bootstrap })
    const { topic, groupId } = await placeOf(kafka, 'replay-schedule')
    const replay = { cooldownMs: 0, intervalMs: 200, maxReplays: 1 }
    const connectors = ['one', 'two'].map((instance) =>
      createConnector({
        administration: openAdministration,
        clusters: { default: client },
        runtime: runtimeWith({ logger: noopLogger }),
        instance,
        bindings: {
          work: {
            topic,
            groupId,
            retry: { tier0: { maxAttempts: 1 } },
            dlt: { strategy: 'SCHEDULED_REPLAY', replay },
            handler: () => {
              throw new NonRetryableError('no')
            },
          },
        },
      }),
    )
    await Promise.all(connectors.map((connector) => connector.start()))
    const values = Array.from({ length: 40 }, (_, at) => `v${at}`)
    await write(client, topic, values)
    // Each is replayed once, dies again, and is then skipped.
    await eventually(
      async () => expect(await committedOf(client, `${groupId}-dlt-replay`, `${topic}.DLT`)).toEqual({ 0: 80n }),
      { deadlineMs: 60_000 },
    )
    expect(await endOf(client, topic)).toBe(80n)
    await Promise.all(connectors.map((connector) => connector.stop()))
  })
})
