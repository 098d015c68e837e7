import { Buffer } from 'node:buffer'
import type { KafkaClient } from '@waybill/kafka'
import { describe, expect, test } from 'vitest'
import type { ReplayReport } from '../../src/api/dead-letter-admin.ts'
import { resolveBinding } from '../../src/options/binding-options.ts'
import { DeadLetterDesk } from '../../src/replay/dead-letter-desk.ts'
import { topicValues } from '../delivery/topic-records.ts'
import { connectorWorld } from '../support/connector-world.ts'

type Reader = ReturnType<KafkaClient['reader']>

interface Desk {
  readonly client: KafkaClient
  readonly texts: () => string[]
  /** Replays once more; `reading` stands between the desk and its reader. */
  readonly replay: (reading?: (reader: Reader) => Reader, signal?: AbortSignal) => Promise<ReplayReport>
}

/** Runs a program at a desk whose dead letters are all at maxReplays, and before the position of replays. */
function atDesk(count: number, program: (desk: Desk) => Promise<void>): Promise<void> {
  return connectorWorld(async ({ sim, client, runtime, logger }) => {
    sim.createTopic('orders')
    sim.createTopic('orders.DLT')
    await using producer = client.producer('EVENT')
    const headers = [['x-eventbus-replay-count', Buffer.from('1')]] as const
    const value = Buffer.from('x')
    await Promise.all(
      Array.from({ length: count }, () => producer.send({ topic: 'orders.DLT', key: null, value, headers })),
    )
    const binding = resolveBinding('shipping', {
      topic: 'orders',
      groupId: 'shipping',
      handler: () => {},
      dlt: { replay: { maxReplays: 1 } },
    })
    const replay = (reading: (reader: Reader) => Reader = (reader) => reader, signal?: AbortSignal) => {
      const reader: KafkaClient['reader'] = (ranges) =>
        ranges.length === 0 ? client.reader(ranges) : reading(client.reader(ranges))
      const { admin } = client
      const watched = { admin, reader, consumer: client.consumer.bind(client), producer: client.producer.bind(client) }
      const desk = new DeadLetterDesk({ binding, client: watched as unknown as KafkaClient, runtime })
      const which = { count: 5_000, ...(signal === undefined ? {} : { signal }) }
      return desk.replay(which, { kind: 'ORIGINAL' })
    }
    expect(await replay()).toMatchObject({ replayed: 0, skipped: { MAX_REPLAYS: count } })
    await program({ client, replay, texts: () => logger.lines.map(({ text }) => text) })
  })
}

/** A reader that no broker answers. */
const failing = (reader: Reader): Reader => ({
  next: () => Promise.reject(new Error('no broker')),
  close: () => reader.close(),
  [Symbol.asyncDispose]: () => reader.close(),
})

describe('a replay that counts dead letters at maxReplays again', () => {
  test('succeeds without the count when they cannot be read', () =>
    atDesk(1, async ({ replay, texts }) => {
      expect(await replay(failing)).toEqual({ replayed: 0, skipped: {}, remaining: 0n })
      expect(texts()).toContain('Dead letters at maxReplays not counted')
      expect(await replay()).toMatchObject({ skipped: { MAX_REPLAYS: 1 } })
    }))

  test('ends when it is cancelled, with the count so far', () =>
    atDesk(700, async ({ replay }) => {
      const cancel = new AbortController()
      const cancelling = (reader: Reader): Reader => ({
        next: (count) => {
          cancel.abort()
          return reader.next(Math.min(count, 100))
        },
        close: () => reader.close(),
        [Symbol.asyncDispose]: () => reader.close(),
      })
      expect(await replay(cancelling, cancel.signal)).toMatchObject({ skipped: { MAX_REPLAYS: 100 } })
    }))

  test('has left the replay group by then', () =>
    atDesk(1, async ({ client, replay }) => {
      await using producer = client.producer('EVENT')
      await producer.send({ topic: 'orders.DLT', key: null, value: Buffer.from('new') })
      let members: unknown
      const watching = (reader: Reader): Reader => ({
        next: async (count) => {
          const [group] = await client.admin.describeGroups(['shipping-dlt-replay'])
          members ??= group?.outcome === 'DONE' ? group.members : 'none'
          return reader.next(count)
        },
        close: () => reader.close(),
        [Symbol.asyncDispose]: () => reader.close(),
      })
      expect(await replay(watching)).toMatchObject({ replayed: 1, skipped: { MAX_REPLAYS: 1 } })
      expect(members).toEqual([])
    }))
})

test('S0-140 a replay by time leaves out dead letters that lie between those of its window and are older or newer', () =>
  connectorWorld(async ({ sim, client, runtime }) => {
    sim.createTopic('orders')
    sim.createTopic('orders.DLT')
    await using producer = client.producer('EVENT')
    const now = runtime.clock.now()
    const headers = [
      ['x-eventbus-consumer-group', Buffer.from('shipping')],
      ['x-eventbus-original-topic', Buffer.from('orders')],
    ] as const
    // A log is ordered by time only nearly: other clocks wrote some of its records.
    for (const [text, agoMs] of [
      ['first', 5_000],
      ['older', 60_000],
      ['newer', 0],
      ['last', 4_000],
    ] as const) {
      const record = { topic: 'orders.DLT', key: null, value: Buffer.from(text), headers, timestamp: now - agoMs }
      await producer.send(record)
    }
    const binding = resolveBinding('shipping', { topic: 'orders', groupId: 'shipping', handler: () => {} })
    const desk = new DeadLetterDesk({ binding, client, runtime })
    const report = await desk.replay({ from: now - 10_000, to: now - 1_000 }, { kind: 'ORIGINAL' })
    expect(report.replayed).toBe(2)
    expect(topicValues(sim, 'orders')).toEqual(['first', 'last'])
  }))
