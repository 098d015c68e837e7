import { createConnector } from '@waybill/connector'
import { applicationOperator, createMemoryLogger, runtimeWith } from '@waybill/core'
import { createKafkaClient } from '@waybill/kafka'
import { createSimCluster } from '@waybill/sim'
import { eventually } from '@waybill/testkit'
import { expect, test } from 'vitest'
import { createMemoryProjectionStore } from '../../src/memory/memory-projection-store.ts'
import { createProjector } from '../../src/projector/create-projector.ts'
import { createQuarantine } from '../../src/quarantine/create-quarantine.ts'
import { deadEvents } from '../../src/quarantine/dead-events.ts'
import { balances } from '../test-accounts.ts'
import { recordOf } from '../test-records.ts'

const operator = applicationOperator()
const open = { balance: '0', currency: 'EUR', status: 'OPENED' }

test('a projection behind a connector blocks while its store fails, quarantines a gap, and is released from its dead letters', async () => {
  const cluster = createSimCluster()
  cluster.createTopic('accounts', { partitions: 1 })
  const kafka = createKafkaClient({ brokers: cluster.brokers, transport: cluster.transport('projection') })
  let failures = 3
  const store = createMemoryProjectionStore({
    pause: async (step) => {
      if (step !== 'before COMMIT' || failures === 0) return
      failures--
      throw new RangeError('the database went away')
    },
  })
  const runtime = runtimeWith({ logger: createMemoryLogger() })
  const projector = createProjector(balances, { store, runtime })
  const connector = createConnector({
    clusters: { default: kafka },
    bindings: {
      balances: projector.binding({
        groupId: 'balances',
        retry: { blocking: { initialBackoffMs: 5, multiplier: 2, maxBackoffMs: 10 } },
      }),
    },
    runtime,
  })
  const producer = kafka.producer('EVENT')
  let offset = 0
  const send = async (...event: [Parameters<typeof recordOf>[0], never, number]): Promise<void> => {
    const { topic, key, value, headers } = await recordOf(event[0], event[1], event[2], offset++)
    await producer.send({ topic, key, value, headers: [...headers] })
  }
  const credit = (accountId: string, version: number, amount: number) =>
    send('FundsCredited', { accountId, amount: String(amount) } as never, version)
  for (const accountId of ['a', 'b'])
    await send('AccountOpened', { accountId, balance: '0', currency: 'EUR' } as never, 1)
  await credit('a', 2, 1)
  await credit('a', 4, 4)
  await credit('b', 2, 7)
  await credit('a', 5, 5)
  await connector.start()
  try {
    await eventually(() => expect(store.find('account_balance', 'b')).toEqual({ ...open, balance: '7' }))
    expect(failures).toBe(0)
    const quarantine = createQuarantine(balances, { store, runtime })
    await eventually(async () =>
      expect(await quarantine.list({}, operator)).toMatchObject([{ key: 'a', expected: 3, last: 5 }]),
    )
    await eventually(async () => expect((await connector.admin.dltStats('balances', operator)).count).toBe(2))
    await credit('a', 3, 3)
    const dead = () => deadEvents(connector.admin.deadLetters('balances', operator))
    await eventually(async () =>
      expect(await quarantine.preview('a', dead(), operator)).toMatchObject({ isReady: true }),
    )
    await quarantine.release('a', dead(), operator)
    expect(store.find('account_balance', 'a')).toEqual({ ...open, balance: '13' })
    await credit('a', 6, 1)
    await eventually(() => expect(store.find('account_balance', 'a')).toEqual({ ...open, balance: '14' }))
  } finally {
    await connector.stop()
    await kafka.close()
  }
})
