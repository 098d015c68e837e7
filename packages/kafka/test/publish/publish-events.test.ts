import { randomBytes } from 'node:crypto'
import {
  createEnvelope,
  decodeEvent,
  defineEvents,
  type EventEnvelope,
  encodeEvent,
  NonRetryableError,
  type OutboxListener,
  PayloadTooLargeError,
  partitionFor,
  RecordHeaders,
  type Runtime,
} from '@waybill/core'
import { createKafkaClient, type KafkaClient, type KafkaRecord, publishEvents } from '@waybill/kafka'
import { createSimCluster, createVirtualRuntime, type SimCluster } from '@waybill/sim'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

const events = defineEvents({
  'order.placed': {
    topic: 'orders',
    aggregateType: 'order',
    schema: z.object({ orderId: z.string(), note: z.string().optional() }),
    key: (order) => order.orderId,
  },
})
const context = { signal: new AbortController().signal, attempt: 1 }

interface World {
  readonly kafka: KafkaClient
  readonly cluster: SimCluster
  readonly runtime: Runtime
  readonly listener: (transactionalId?: string) => OutboxListener
}

function simulate(program: (world: World) => Promise<void>): Promise<void> {
  const runtime = createVirtualRuntime(1)
  return runtime.run(async () => {
    const cluster = createSimCluster({ runtime })
    cluster.createTopic('orders', { partitions: 4, configs: { 'max.message.bytes': '20000' } })
    await using kafka = createKafkaClient({ brokers: cluster.brokers, transport: cluster.transport('test'), runtime })
    const listener = (transactionalId?: string): OutboxListener => {
      const found = publishEvents(kafka, events, { transactionalId }).listenerFor('order', 'order.placed')
      if (found === null) throw new Error('A listener was expected.')
      return found
    }
    await program({ kafka, cluster, runtime, listener })
  })
}

async function readAll(kafka: KafkaClient, count: number): Promise<KafkaRecord[]> {
  await using consumer = kafka.consumer({ groupId: 'reader', topics: ['orders'] })
  await consumer.start()
  const records: KafkaRecord[] = []
  // One poll more than needed: a record too many must be seen.
  for (let idle = 0; idle < 2; ) {
    // oxlint-disable-next-line no-await-in-loop -- One poll after another.
    const polled = await consumer.poll(100, 1_000)
    records.push(...polled)
    if (polled.length === 0 && records.length >= count) idle++
  }
  return records
}

const placed = (orderId: string, note?: string) =>
  encodeEvent(events, 'order.placed', note === undefined ? { orderId } : { orderId, note })

function largeEvent(key: string, payloadBytes: number): EventEnvelope {
  return createEnvelope({
    eventType: 'large.made',
    aggregateId: key,
    payloadJson: JSON.stringify({ x: 'x'.repeat(payloadBytes - 8) }),
    headers: { note: 'n'.repeat(2_000) },
  })
}

test.each([undefined, 'outbox-1'])(
  'a producer takes what may be written, with the transactional id %s',
  async (transactionalId) => {
    await simulate(async ({ kafka, cluster }) => {
      cluster.createTopic('large', { partitions: 1, configs: { 'max.message.bytes': '4000000' } })
      const large = defineEvents({
        'order.placed': { topic: 'large', schema: z.object({ orderId: z.string() }), key: (order) => order.orderId },
      })
      const registry = publishEvents(kafka, large, { transactionalId, maxRecordBytes: 3_000_000 })
      const event = { ...largeEvent('o-1', 1_048_000), eventType: 'order.placed' }
      registry.checkWrite?.(event)
      await expect(registry.listenerFor('order', 'order.placed')?.(event, context)).resolves.toBeUndefined()
    })
  },
)

describe('the listener of publishEvents', () => {
  test('carries an event with its id, trace and key to the partition of the contract', () =>
    simulate(async ({ kafka, listener }) => {
      const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
      const event = await encodeEvent(events, 'order.placed', { orderId: 'o-1' }, { headers: { traceparent } })
      await listener()(event, context)
      const [record] = await readAll(kafka, 1)
      if (record === undefined) throw new Error('A record was expected.')
      expect(record.partition).toBe(partitionFor('o-1', 4))
      expect(record.headers.text('traceparent')).toBe(traceparent)
      const { key, value } = record
      const decoded = await decodeEvent(events, { key, value, headers: RecordHeaders.from(record.headers) })
      expect(decoded).toMatchObject({ id: event.eventId, key: 'o-1', payload: { orderId: 'o-1' } })
    }))

  test('rejects while the broker has not confirmed, so that the row is tried again', () =>
    simulate(async ({ kafka, cluster, listener }) => {
      cluster.failNext('Produce', 29) // TOPIC_AUTHORIZATION_FAILED
      const listen = listener()
      const event = await placed('o-1')
      await expect(listen(event, context)).rejects.toMatchObject({
        destination: 'kafka://sim:1/orders',
        cause: { reason: 'TOPIC_AUTHORIZATION_FAILED' },
      })
      await listen(event, { ...context, attempt: 2 })
      expect(await readAll(kafka, 1)).toHaveLength(1)
    }))

  test('is there for every aggregate type, and for no event outside the catalog', () =>
    simulate(async ({ kafka }) => {
      const registry = publishEvents(kafka, events)
      expect(registry.listenerFor('something else', 'order.placed')).not.toBeNull()
      expect(registry.listenerFor('order', 'order.lost')).toBeNull()
      expect(registry.listenerFor('order', 'toString')).toBeNull()
    }))

  test.each([
    ['JSON', 'k'],
    ['ENVELOPE', 'k'],
    ['CLOUDEVENTS', 'k'],
    ['JSON', 'k'.repeat(128)],
  ] as const)(
    'takes the largest event of %s that the producer takes, and refuses one byte more (key %s)',
    (wireFormat, key) =>
      simulate(async ({ kafka, cluster }) => {
        cluster.createTopic('large')
        const catalog = defineEvents(
          { 'large.made': { topic: 'large', schema: z.object({ x: z.string() }), key: () => key } },
          { wireFormat },
        )
        const registry = publishEvents(kafka, catalog)
        const isTaken = (bytes: number): boolean => {
          try {
            registry.checkWrite?.(largeEvent(key, bytes))
            return true
          } catch (error) {
            expect(error).toBeInstanceOf(PayloadTooLargeError)
            expect((error as PayloadTooLargeError).hint).toBe(
              'Store large content elsewhere and put a reference to it into the event, ' +
                'or raise maxRecordBytes of publishEvents, and max.message.bytes of the topic with it.',
            )
            return false
          }
        }
        let [taken, refused] = [1_000, 1_048_576]
        expect([isTaken(taken), isTaken(refused)]).toEqual([true, false])
        while (refused - taken > 1) {
          const middle = Math.floor((taken + refused) / 2)
          if (isTaken(middle)) taken = middle
          else refused = middle
        }
        expect(taken).toBeGreaterThan(1_048_576 - 4_000)
        await registry.listenerFor('', 'large.made')?.(largeEvent(key, taken), context)
      }),
  )

  test('what is larger than the topic takes cannot be delivered, ever', () =>
    simulate(async ({ listener }) => {
      const event = await placed('o-1', randomBytes(40_000).toString('base64'))
      await expect(listener()(event, context)).rejects.toThrow(NonRetryableError)
      await expect(listener('relay-1')(event, context)).rejects.toThrow(NonRetryableError)
    }))

  test('keeps the order of calls for a key', () =>
    simulate(async ({ kafka, listener }) => {
      const listen = listener()
      const sent = await Promise.all(Array.from({ length: 50 }, (_, index) => placed('o-1', String(index))))
      await Promise.all(sent.map((event) => listen(event, context)))
      const read = await readAll(kafka, 50)
      expect(read.map(({ headers }) => headers.text('id'))).toEqual(sent.map(({ eventId }) => eventId))
    }))
})

describe('with a transactional id', () => {
  test('events that wait together share a transaction, and resolve once it is committed', () =>
    simulate(async ({ kafka, cluster, listener }) => {
      const listen = listener('relay-1')
      const sent = await Promise.all(Array.from({ length: 20 }, (_, index) => placed('o-1', String(index))))
      await Promise.all(sent.map((event) => listen(event, context)))
      expect(await readAll(kafka, 20)).toHaveLength(20)
      // The records and the marker of one commit.
      expect(cluster.partition('orders', partitionFor('o-1', 4)).highWatermark).toBe(21n)
    }))

  test('an event that is refused fails alone: those beside it are published', () =>
    simulate(async ({ kafka, listener }) => {
      const listen = listener('relay-1')
      const payloadJson = JSON.stringify(randomBytes(40_000).toString('base64'))
      const tooLarge = createEnvelope({ eventType: 'order.placed', aggregateId: 'o-4', payloadJson })
      const sent = [await placed('o-1'), tooLarge, await placed('o-2')]
      const results = await Promise.allSettled(sent.map((event) => listen(event, context)))
      expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
      expect(await readAll(kafka, 2)).toHaveLength(2)
    }))

  test.each([
    ['the client', 786_400], // The largest payload there may be, and some headers.
    ['the broker', 40_000],
  ])('what %s refuses fails alone, also among events of its partition', (_, bytes) =>
    simulate(async ({ kafka, listener }) => {
      const listen = listener('relay-1')
      const payloadJson = JSON.stringify(randomBytes(bytes).toString('base64'))
      const tooLarge = createEnvelope({ eventType: 'order.placed', aggregateId: 'o-1', payloadJson })
      const beside = await Promise.all(Array.from({ length: 6 }, (_each, index) => placed('o-1', String(index))))
      const sent = [...beside.slice(0, 3), tooLarge, ...beside.slice(3)]
      const results = await Promise.allSettled(sent.map((event) => listen(event, context)))
      expect(results.filter(({ status }) => status === 'rejected')).toEqual([results[3]])
      const read = await readAll(kafka, 6)
      expect(read.map(({ headers }) => headers.text('id'))).toEqual(beside.map(({ eventId }) => eventId))
    }),
  )

  test('an event that is given up before its transaction is taken back', () =>
    simulate(async ({ kafka, cluster, listener }) => {
      const listen = listener('relay-1')
      await expect(listen(await placed('o-1'), { ...context, signal: AbortSignal.abort() })).rejects.toMatchObject({
        kind: 'RETRIABLE',
      })
      const held = cluster.stall({ api: 'Produce' })
      const first = listen(await placed('o-2'), context)
      const impatient = new AbortController()
      const waiting = listen(await placed('o-3'), { ...context, signal: impatient.signal })
      impatient.abort()
      await expect(waiting).rejects.toMatchObject({ kind: 'RETRIABLE' })
      held[Symbol.dispose]()
      await first
      expect((await readAll(kafka, 1)).map(({ key }) => String(key))).toEqual(['o-2'])
    }))

  test('an event that is given up within its transaction is unknown, and is in no other one', () =>
    simulate(async ({ kafka, cluster, listener, runtime }) => {
      const listen = listener('relay-1')
      const payloadJson = JSON.stringify(randomBytes(40_000).toString('base64'))
      const tooLarge = createEnvelope({ eventType: 'order.placed', aggregateId: 'o-4', payloadJson })
      const [kept, given] = [await placed('o-1'), await placed('o-2')]
      const held = cluster.stall({ api: 'Produce' })
      const impatient = new AbortController()
      const settling = Promise.allSettled([
        listen(kept, context),
        listen(given, { ...context, signal: impatient.signal }),
        listen(tooLarge, context),
      ])
      await runtime.timers.sleep(1_000)
      impatient.abort()
      held[Symbol.dispose]()
      const [first, second, third] = await settling
      expect([first?.status, third?.status]).toEqual(['fulfilled', 'rejected'])
      expect(second).toMatchObject({ status: 'rejected', reason: { kind: 'UNKNOWN' } })
      // The transaction they shared was aborted because of the third, and written again without the second.
      expect((await readAll(kafka, 1)).map(({ key }) => String(key))).toEqual(['o-1'])
    }))

  test('a commit without an answer rejects all its events, and the next transaction works', () =>
    simulate(async ({ kafka, cluster, listener }) => {
      const listen = listener('relay-1')
      await listen(await placed('o-1'), context)
      const lost = cluster.dropResponses({ api: 'EndTxn' })
      const event = await placed('o-2')
      await expect(listen(event, context)).rejects.toMatchObject({
        destination: 'kafka://sim:1?transactionalId=relay-1',
        cause: { kind: 'UNKNOWN' },
      })
      lost[Symbol.dispose]()
      await listen(event, { ...context, attempt: 2 })
      const ids = (await readAll(kafka, 2)).map(({ headers }) => headers.text('id'))
      expect(new Set(ids).size).toBe(2)
      expect(ids).toContain(event.eventId)
    }))
})
