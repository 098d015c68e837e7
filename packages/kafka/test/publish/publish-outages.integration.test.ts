import { defineEvents, encodeEvent, NonRetryableError, UnavailableError } from '@waybill/core'
import { createKafkaClient, publishEvents } from '@waybill/kafka'
import { createBrokerTransport, type KafkaTransport } from '@waybill/kafka/wire'
import { describeWith } from '@waybill/test-support'
import { createFaultProxy, eventually } from '@waybill/testkit'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

const schema = z.object({ id: z.string(), note: z.string().optional() })
const eventsOn = (topic: string) => defineEvents({ 'order.placed': { topic, schema, key: ({ id }) => id } })

describeWith('kafka')('publishing to Apache Kafka', ({ kafka }) => {
  describe.each([undefined, 'relay'])('with the transactional id %s', (id) => {
    const transactionalId = id === undefined ? undefined : kafka.named(id)
    let topics = 0

    /** Publishes events on a topic, through a transport if one is given. */
    async function publishing(
      topic: string,
      program: (publish: (note?: string, key?: null) => Promise<unknown>) => Promise<void>,
      transport?: KafkaTransport,
    ): Promise<void> {
      const brokers = kafka.bootstrap
      await using client = createKafkaClient(transport === undefined ? { brokers } : { brokers, transport })
      const events = eventsOn(topic)
      const listener = publishEvents(client, events, { transactionalId }).listenerFor('', 'order.placed')
      await program(async (note, key) => {
        const event = await encodeEvent(
          events,
          'order.placed',
          note === undefined ? { id: 'o-1' } : { id: 'o-1', note },
        )
        const context = { signal: new AbortController().signal, attempt: 1 }
        return listener?.(key === null ? { ...event, aggregateId: null } : event, context)
      })
    }
    const createTopic = (config: Readonly<Record<string, string>> = {}): Promise<string> =>
      kafka.createTopic(`outages-${id ?? 'plain'}-${++topics}`, { partitions: 2, config })

    test('waits for a topic that does not exist yet', async () => {
      const name = `missing-${id ?? 'plain'}`
      await publishing(kafka.named(name), async (publish) => {
        const error = await publish().catch((thrown: unknown) => thrown)
        expect(error).toBeInstanceOf(UnavailableError)
        expect((error as UnavailableError).destination).toContain(`/${kafka.named(name)}`)
        await kafka.createTopic(name)
        await publish()
      })
    })

    test('never retries a record that the topic refuses', async () => {
      await publishing(await createTopic({ 'cleanup.policy': 'compact' }), async (publish) => {
        await publish()
        await expect(publish(undefined, null)).rejects.toThrow(NonRetryableError)
        await publish()
      })
    })

    test('reaches a broker that returns while an event is being published', async () => {
      const [host = '', port = ''] = (kafka.bootstrap[0] ?? '').split(':')
      const proxy = createFaultProxy({ target: { host, port: Number(port) } })
      await proxy.start()
      const direct = createBrokerTransport()
      const transport: KafkaTransport = {
        connect: (_node, ...rest) => direct.connect({ host: proxy.host, port: proxy.port }, ...rest),
      }
      await publishing(
        await createTopic(),
        async (publish) => {
          await publish()
          proxy.refuse()
          proxy.cut()
          const published = publish()
          await eventually(() => expect(proxy.stats.refused).toBeGreaterThan(3))
          proxy.heal()
          await published
        },
        transport,
      )
      await proxy.stop()
    })
  })
})
