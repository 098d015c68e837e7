import { Buffer } from 'node:buffer'
import { expect, test } from 'vitest'
import type { ReplayReport } from '../../src/api/dead-letter-admin.ts'
import { type ConnectorWorld, connectorWorld } from '../support/connector-world.ts'

const alice = { by: 'alice' }

async function bury({ client }: ConnectorWorld, topic: string, count: number): Promise<void> {
  await using producer = client.producer('EVENT')
  const headers = [['x-eventbus-consumer-group', Buffer.from('shipping')]] as const
  for (let index = 0; index < count; index++)
    await producer.send({ topic, key: null, value: Buffer.from(`${index}`), headers })
}

test('a replay by count of several topics copies that many of all of them, and reports their sum', () =>
  connectorWorld(async (world) => {
    const topics = ['orders', 'returns', 'refunds']
    for (const topic of topics) world.sim.createTopic(topic)
    const bus = world.connector({ bindings: { shipping: { topic: topics, groupId: 'shipping', handler: () => {} } } })
    await bus.start()
    for (const topic of topics) await bury(world, `${topic}.DLT`, 2)
    const seen: ReplayReport[] = []
    const onProgress = (report: ReplayReport) => void seen.push(report)
    const report = await bus.admin.replayDlt('shipping', { count: 3, target: 'ORIGINAL', onProgress }, alice)
    expect(report).toEqual({ replayed: 3, skipped: {}, remaining: 1n })
    expect(seen.map(({ replayed }) => replayed)).toEqual([2, 3])
    const copies = topics.map((topic) => world.sim.partition(topic, 0).highWatermark)
    expect(copies).toEqual([2n, 1n, 0n])
  }))
