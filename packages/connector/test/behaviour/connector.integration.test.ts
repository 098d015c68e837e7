import { Buffer } from 'node:buffer'
import { createKafkaClient, type KafkaClient, requireAllDone } from '@waybill/kafka'
import { describeWith } from '@waybill/test-support'
import { eventually } from '@waybill/testkit'
import { expect, test } from 'vitest'
import { createConnector } from '../../src/engine/create-connector.ts'

const soon = { deadlineMs: 60_000, everyMs: 100 }

async function write(client: KafkaClient, topic: string, values: readonly string[]): Promise<void> {
  await using producer = client.producer('EVENT')
  await Promise.all(values.map((value) => producer.send({ topic, key: Buffer.from(value), value: Buffer.from(value) })))
}

describeWith('kafka')('a connector on Apache Kafka', ({ kafka }) => {
  test('handles each record, or moves it through its tier to the dead letters, and can account for all', async () => {
    await using client = createKafkaClient({ brokers: kafka.bootstrap })
    const topic = await kafka.createTopic('orders', { partitions: 2 })
    const groupId = kafka.named('shipping')
    const handled: string[] = []
    const bindings = {
      shipping: {
        topic,
        groupId,
        retry: { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 100, maxAttempts: 1 }] },
        handler: async (record: { readonly value: Buffer | null }): Promise<void> => {
          const value = record.value?.toString() ?? ''
          if (value.startsWith('bad')) throw new Error(`${value} is bad`)
          handled.push(value)
        },
      },
    }
    const good = Array.from({ length: 50 }, (_, index) => `order-${index}`)
    await using connector = createConnector({ clusters: { default: client }, bindings })
    await connector.start()
    await write(client, topic, [...good, 'bad-1', 'bad-2'])
    await eventually(() => expect(handled).toHaveLength(good.length), soon)
    await eventually(async () => {
      const partitions = [0, 1].map((partition) => ({ topic: `${topic}.DLT`, partition }))
      const ends = requireAllDone('dead letters', await client.admin.listOffsets(partitions, 'LATEST'))
      expect(ends.reduce((sum, { offset }) => sum + (offset ?? 0n), 0n)).toBe(2n)
    }, soon)
    await connector.stop('shipping')
    const rows = await connector.audit()
    const sum = (of: string, name: 'ok' | 'retried' | 'dead'): bigint =>
      rows.filter((row) => row.topic === of).reduce((all, row) => all + row[name], 0n)
    expect([sum(topic, 'ok'), sum(topic, 'retried')]).toEqual([50n, 2n])
    expect(sum(`${topic}.retry-1`, 'dead')).toBe(2n)
    expect(rows.filter(({ problem, missing }) => problem !== undefined || missing > 0n)).toEqual([])
    expect(handled.toSorted()).toEqual(good.toSorted())

    await write(client, topic, ['order-50'])
    await connector.start('shipping')
    await eventually(() => expect(handled).toContain('order-50'), soon)
    expect(handled).toHaveLength(51)
    expect(connector.health().reasons).toEqual([])
  })

  test('pauses without leaving its group, and goes on where it was', async () => {
    await using client = createKafkaClient({ brokers: kafka.bootstrap })
    const topic = await kafka.createTopic('invoices', { partitions: 1 })
    const groupId = kafka.named('billing')
    const handled: string[] = []
    const handler = async (record: { readonly value: Buffer | null }): Promise<void> => {
      handled.push(record.value?.toString() ?? '')
    }
    await using connector = createConnector({
      clusters: { default: client },
      bindings: { billing: { topic, groupId, handler, orderingMode: 'STRICT' } },
    })
    await connector.start()
    await write(client, topic, ['a'])
    await eventually(() => expect(handled).toEqual(['a']), soon)
    await connector.pause('billing')
    await write(client, topic, ['b'])
    const [group] = requireAllDone('the group', await client.admin.describeGroups([groupId]))
    expect([group?.groupState, group?.members?.length]).toEqual(['Stable', 1])
    expect(handled).toEqual(['a'])
    await connector.resume('billing')
    await eventually(() => expect(handled).toEqual(['a', 'b']), soon)
  })
})
