import { createKafkaClient, PartialFailureError } from '@waybill/kafka'
import { describeWith, type KafkaPlace } from '@waybill/test-support'
import { eventually } from '@waybill/testkit'
import { expect, test } from 'vitest'
import type { Binding } from '../../src/api/binding.ts'
import { collecting } from '../support/connector-world.ts'
import { placeOf, startOne, write } from '../support/kafka-world.ts'

const soon = { deadlineMs: 60_000, everyMs: 100 }
const alice = { by: 'alice' }

const setups: readonly (readonly [string, Partial<Binding>])[] = [
  ['record by record', {}],
  ['in the order of keys', { orderingMode: 'KEY', parallelism: 'KEY' }],
]

describeWith('kafka')('moving positions on Apache Kafka', ({ kafka }: { readonly kafka: KafkaPlace }) => {
  test.for(setups)('back, forward and over a record keeps the audit true: %s', async ([name, options]) => {
    await using client = createKafkaClient({ brokers: kafka.bootstrap })
    const { topic, groupId } = await placeOf(kafka, `moved-${name.replaceAll(' ', '-')}`)
    const { handler, values } = collecting()
    await using connector = await startOne(client, { topic, groupId, handler, ...options })
    const { admin } = connector
    await write(client, topic, ['a', 'b', 'c'])
    await eventually(() => expect(values).toHaveLength(3), soon)

    await admin.pause('shipping', alice)
    const back = await admin.seek('shipping', { to: { offset: 1n }, partitions: [0] }, alice)
    expect(back.positions).toMatchObject([{ from: 3n, to: 1n, repeated: 2n }])
    await admin.resume('shipping', alice)
    await eventually(() => expect(values).toHaveLength(5), soon)

    await admin.stop('shipping', alice)
    await write(client, topic, ['d', 'e', 'f', 'g'])
    await admin.skip('shipping', { partition: 0, offsets: [4n] }, alice)
    const forward = await admin.seek('shipping', { to: { offset: 6n }, partitions: [0] }, alice)
    expect(forward.positions).toMatchObject([{ from: 3n, to: 6n, skipped: 2n }])
    await admin.start('shipping', alice)
    await eventually(() => expect(values.toSorted()).toEqual(['a', 'b', 'b', 'c', 'c', 'g']), soon)
    await admin.stop('shipping', alice)

    const rows = (await connector.audit()).filter((row) => row.topic === topic)
    expect(rows).toMatchObject([
      { since: 1n, committed: 7n, ok: 3n, skipped: 3n, problem: undefined, moved: { times: 3, from: 3n, to: 6n } },
    ])
    expect(connector.health().reasons).toEqual([])
  })

  test('is refused by the broker while another process is in the group', async () => {
    await using client = createKafkaClient({ brokers: kafka.bootstrap })
    const { topic, groupId } = await placeOf(kafka, 'moved-by-two')
    const { handler, values } = collecting()
    await using connector = await startOne(client, { topic, groupId, handler })
    await write(client, topic, ['a'])
    await eventually(() => expect(values).toHaveLength(1), soon)
    await using other = await startOne(client, { topic, groupId, handler })
    await eventually(() => expect(other.health().status).toBe('UP'), soon)
    await connector.pause('shipping')
    await expect(connector.admin.seek('shipping', { to: 'EARLIEST' }, alice)).rejects.toThrow(PartialFailureError)
    expect(connector.getState('shipping')).toBe('PAUSED')
  })
})
