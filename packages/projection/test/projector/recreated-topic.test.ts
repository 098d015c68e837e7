import { createConnector } from '@waybill/connector'
import { noopLogger, runtimeWith } from '@waybill/core'
import { createKafkaClient, createPublisher } from '@waybill/kafka'
import { createSimCluster } from '@waybill/sim'
import { eventually } from '@waybill/testkit'
import { expect, test } from 'vitest'
import { createMemoryProjectionStore } from '../../src/memory/memory-projection-store.ts'
import { createProjector } from '../../src/projector/create-projector.ts'
import { accounts, balancesByPosition } from '../test-accounts.ts'

const runtime = runtimeWith({ logger: noopLogger })

test('a topic that was created again is not read by position until its positions are removed, and the binding says why', async () => {
  const store = createMemoryProjectionStore()
  const cluster = createSimCluster()
  cluster.createTopic('accounts', { partitions: 1 })
  await using kafka = createKafkaClient({ brokers: cluster.brokers, transport: cluster.transport('recreated') })
  await using publisher = createPublisher(kafka, accounts)
  const build = { projection: 'account_position', number: 1 }
  const balance = () => store.find('account_position', 'a')?.['balance']
  const consuming = async (work: (unread: () => unknown) => Promise<void>): Promise<void> => {
    const binding = createProjector(balancesByPosition, { store, runtime }).binding({ groupId: 'recreated' })
    await using connector = createConnector({ clusters: { default: kafka }, bindings: { binding }, runtime })
    await connector.start()
    await work(() => connector.admin.binding('binding').containers[0]?.members[0]?.unread)
  }

  await publisher.publish('AccountOpened', { accountId: 'a', balance: '0', currency: 'EUR' })
  for (let count = 0; count < 4; count++) await publisher.publish('FundsCredited', { accountId: 'a', amount: '1' })
  await consuming(() => eventually(() => expect(balance()).toBe('4')))

  await kafka.admin.deleteTopics(['accounts'])
  cluster.createTopic('accounts', { partitions: 1 })
  await publisher.publish('FundsCredited', { accountId: 'a', amount: '1' })
  await consuming(async (unread) => {
    const why = expect.stringContaining('The stored position 5 of accounts-0 is above the end of its log, 1')
    await eventually(() => expect(unread()).toMatchObject([{ topic: 'accounts', partition: 0, why }]))
    expect(balance()).toBe('4')
  })

  // Without a stored position the new topic is read.
  await store.dropTable(build)
  await publisher.publish('FundsCredited', { accountId: 'a', amount: '1' })
  await consuming(() => eventually(async () => expect((await store.positions(build))[0]?.next).toBe(2n)))
})
