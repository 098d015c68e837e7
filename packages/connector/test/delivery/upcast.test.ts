import { Buffer } from 'node:buffer'
import { applicationOperator, defineEvents, NonRetryableError, upcast } from '@waybill/core'
import { watchRejections } from '@waybill/test-support/kafka'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { handleEvents } from '../../src/handlers/handle-events.ts'
import { type ConnectorWorld, connectorWorld } from '../support/connector-world.ts'
import { committedOffsets, topicRecords, topicValues } from './topic-records.ts'

watchRejections()

const v1 = z.object({ messageId: z.string(), text: z.string() })
const v2 = z.object({ messageId: z.string(), body: z.string() })
const events = defineEvents({
  MessagePersisted: {
    topic: 'messages',
    version: 2,
    schema: v2,
    key: ({ messageId }) => messageId,
    upcasters: {
      1: upcast(v1, v2, ({ messageId, text }) => {
        if (text === 'broken') throw new RangeError('no body in it')
        return { messageId, body: text }
      }),
    },
  },
})

async function send({ client }: ConnectorWorld, versions: readonly (readonly [number, object])[]): Promise<string[]> {
  await using producer = client.producer('EVENT')
  const values = versions.map(([, payload]) => JSON.stringify(payload))
  for (const [index, [version]] of versions.entries())
    await producer.send({
      topic: 'messages',
      partition: 0,
      key: Buffer.from('m-1'),
      value: Buffer.from(values[index] ?? ''),
      headers: [
        ['id', Buffer.from(`e-${index}`)],
        ['eventType', Buffer.from('MessagePersisted')],
        ['eventVersion', Buffer.from(String(version))],
      ],
    })
  return values
}

describe('S2-058 the handler of an event with several versions', () => {
  test('receives the payload of the newest version, and the warning for an unknown one is logged once', () =>
    connectorWorld(async (world) => {
      const { sim, connector, eventually, logger } = world
      sim.createTopic('messages')
      const handled: string[] = []
      const handler = handleEvents(events, {
        MessagePersisted: ({ version, payload }) => void handled.push(`${version} ${payload.body}`),
      })
      await connector({ bindings: { fanout: { topic: 'messages', groupId: 'fanout', handler } } }).start()
      const old = { messageId: 'm-1', text: 'old' }
      await send(world, [
        [1, old],
        [2, { messageId: 'm-1', body: 'new' }],
        [7, old],
        [7, old],
      ])
      await eventually(() => expect(committedOffsets(sim, 'fanout', 'messages')).toEqual({ 0: 4n }))
      expect(handled).toEqual(['1 old', '2 new', '7 old', '7 old'])
      expect(logger.lines.filter(({ text }) => text.startsWith('Unknown'))).toMatchObject([
        {
          level: 'WARN',
          text: 'Unknown MessagePersisted version 7, attempting v1',
          fields: { binding: 'fanout', event: 'MessagePersisted', version: 7 },
        },
      ])
    }))

  test('leaves the record that came to dead letters and replays, whatever the step made of it', () =>
    connectorWorld(async (world) => {
      const { sim, connector, eventually } = world
      sim.createTopic('messages')
      const handled: string[] = []
      let isBroken = true
      const handler = handleEvents(events, {
        MessagePersisted: ({ payload }) => {
          if (isBroken) throw new NonRetryableError('not now')
          handled.push(payload.body)
        },
      })
      const bus = connector({ bindings: { fanout: { topic: 'messages', groupId: 'fanout', handler } } })
      await bus.start()
      const values = await send(world, [
        [1, { messageId: 'm-1', text: 'old' }],
        [1, { messageId: 'm-1', text: 'broken' }],
        [9, { messageId: 'm-1', body: 'from the future' }],
      ])
      await eventually(() => expect(committedOffsets(sim, 'fanout', 'messages')).toEqual({ 0: 3n }))
      expect(topicValues(sim, 'messages.DLT')).toEqual(values)
      const dead = topicRecords(sim, 'messages.DLT')
      expect(dead.map(({ headers }) => headers.text('eventVersion'))).toEqual(['1', '1', '9'])
      expect(dead.map(({ headers }) => headers.text('x-eventbus-total-attempts'))).toEqual(['1', '0', '0'])
      isBroken = false
      await bus.admin.replayDlt('fanout', { count: 1 }, applicationOperator())
      await eventually(() => expect(handled).toEqual(['old']))
    }))
})
