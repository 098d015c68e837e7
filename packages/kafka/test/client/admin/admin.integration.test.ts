import { Consumer } from '@platformatic/kafka'
import { describeWith } from '@waybill/test-support'
import { runOnKafka } from '@waybill/test-support/kafka'
import { eventually } from '@waybill/testkit'
import { expect, test } from 'vitest'
import { adminResultsOf, requireAllDone } from '../../../src/client/admin/admin-result.ts'
import { describeAdminBehaviour } from './admin-behaviour.ts'

describeWith('kafka')('an admin of a real cluster', ({ kafka }) => {
  describeAdminBehaviour((program) => runOnKafka(kafka, program))

  test('a living group of another type is described by its type, and its offsets cannot be set', () =>
    runOnKafka(kafka, async ({ admin, named }) => {
      const [topic, groupId] = [named('orders'), named('next-protocol')]
      requireAllDone('', await admin.createTopics([{ topic, partitions: 1, replication: 1 }]))
      const consumer = new Consumer({
        clientId: 'next',
        groupId,
        groupProtocol: 'consumer',
        bootstrapBrokers: [...kafka.bootstrap],
      })
      const stream = await consumer.consume({ topics: [topic], mode: 'earliest', autocommit: false })
      stream.on('data', () => {})
      try {
        await eventually(async () => {
          expect(await admin.describeGroups([groupId])).toEqual([
            { groupId, outcome: 'DONE', groupState: 'Stable', groupType: 'CONSUMER', protocol: '', members: null },
          ])
        })
        expect(
          await adminResultsOf(admin.alterGroupOffsets(groupId, [{ topic, partition: 0, offset: 0n }])),
        ).toMatchObject([{ outcome: 'FAILED', error: { kind: 'FATAL', reason: 'UNKNOWN_MEMBER_ID' } }])
      } finally {
        await consumer.close(true)
      }
    }))
})
