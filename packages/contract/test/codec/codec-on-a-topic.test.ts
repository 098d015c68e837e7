import { createConnector, type DeadLetterRecord, defineBinding, handleEvents } from '@waybill/connector'
import { createAvroCodec } from '@waybill/contract/codec'
import { createMemoryRegistry, RegistryUnavailableError } from '@waybill/contract/registry'
import { createEnvelope, defineEvents, encodeEvent, noopLogger, UnavailableError } from '@waybill/core'
import { createKafkaClient, createPublisher, type KafkaClient, publishEvents } from '@waybill/kafka'
import { createSimCluster, createVirtualRuntime, type VirtualRuntime } from '@waybill/sim'
import avsc from 'avsc'
import { expect, test } from 'vitest'
import { z } from 'zod'

const schema = {
  type: 'record',
  name: 'Order',
  fields: [
    { name: 'id', type: 'string' },
    { name: 'total', type: 'long' },
  ],
}

interface World {
  readonly runtime: VirtualRuntime
  readonly kafka: KafkaClient
  readonly registry: { isDown: boolean }
  readonly events: ReturnType<typeof catalogOf>
  readonly codec: ReturnType<typeof codecOf>
  /** A codec with a cache of its own, as another process has. */
  readonly otherCodec: () => ReturnType<typeof codecOf>
}

const codecOf = (registry: ReturnType<typeof createMemoryRegistry>, runtime: VirtualRuntime) =>
  createAvroCodec<{ id: string; total: number }>({ avro: avsc, registry, subject: 'orders', schema, runtime })
const catalogOf = (codec: ReturnType<typeof codecOf>) =>
  defineEvents({
    'order.placed': {
      topic: 'orders',
      schema: z.object({ id: z.string(), total: z.number().int() }),
      key: ({ id }) => id,
      codec,
    },
  })

function simulate(program: (world: World) => Promise<void>): Promise<void> {
  const runtime = createVirtualRuntime(1, { logger: noopLogger })
  return runtime.run(async () => {
    const cluster = createSimCluster({ runtime })
    cluster.createTopic('orders')
    await using kafka = createKafkaClient({ brokers: cluster.brokers, transport: cluster.transport('test'), runtime })
    const inner = createMemoryRegistry()
    await inner.register('orders', { schemaType: 'AVRO', schema: JSON.stringify(schema), references: [] })
    const state = { isDown: false }
    const answer = async <T>(result: () => Promise<T>): Promise<T> => {
      if (state.isDown) throw new RegistryUnavailableError('The registry is down.')
      return result()
    }
    const registry = {
      ...inner,
      name: 'memory',
      schemaById: (id: number) => answer(() => inner.schemaById(id)),
      lookUp: (...args: Parameters<typeof inner.lookUp>) => answer(() => inner.lookUp(...args)),
      register: inner.register.bind(inner),
      version: inner.version.bind(inner),
      checkCompatibility: inner.checkCompatibility.bind(inner),
    }
    const codec = codecOf(registry, runtime)
    const otherCodec = () => codecOf(registry, runtime)
    await program({ runtime, kafka, registry: state, events: catalogOf(codec), codec, otherCodec })
  })
}

test('values of a binding are decoded; an outage of the registry is waited for, garbage and unknown schemas are dead letters', async () => {
  await simulate(async ({ runtime, kafka, registry, codec, otherCodec }) => {
    const values: unknown[] = []
    const dead: DeadLetterRecord[] = []
    const connector = createConnector({
      clusters: { default: kafka },
      bindings: {
        billing: defineBinding({
          topic: 'orders',
          groupId: 'billing',
          decode: otherCodec().decode,
          dlt: { strategy: 'ALERT_AND_STORE', alertHandler: { onDeadLetter: (record) => void dead.push(record) } },
          handler: ({ value }) => void values.push(value?.total.toFixed(0)),
        }),
      },
      runtime,
    })
    const producer = kafka.producer('EVENT')
    const good = await codec.encode({ id: 'a', total: 1 })
    registry.isDown = true
    for (const value of [
      good,
      Buffer.from('{"id":"a"}'),
      Buffer.from([0, 0, 0, 0, 9, 1]),
      await codec.encode({ id: 'b', total: 2 }),
    ])
      await producer.send({ topic: 'orders', key: null, value })
    await connector.start()
    await runtime.timers.sleep(5_000)
    expect(values).toEqual([])
    registry.isDown = false
    await runtime.timers.sleep(3_600_000)
    await connector.stop()
    expect(new Set(values)).toEqual(new Set(['1', '2']))
    expect(values).toHaveLength(2)
    expect(dead.map(({ originalOffset }) => Number(originalOffset))).toEqual([1, 2])
  })
})

test('events of a catalog are published in Avro, and handled', async () => {
  await simulate(async ({ runtime, kafka, events }) => {
    const payloads: unknown[] = []
    const connector = createConnector({
      clusters: { default: kafka },
      bindings: {
        billing: {
          topic: 'orders',
          groupId: 'billing',
          handler: handleEvents(events, { 'order.placed': ({ payload }) => void payloads.push(payload) }),
        },
      },
      runtime,
    })
    await using publisher = createPublisher(kafka, events)
    await publisher.publish('order.placed', { id: 'a', total: 42 })
    await connector.start()
    await runtime.timers.sleep(1_000)
    await connector.stop()
    expect(payloads).toEqual([{ id: 'a', total: 42 }])
  })
})

test('an event of the outbox waits while the registry gives no answer, and spends no attempt', async () => {
  await simulate(async ({ kafka, registry, events }) => {
    const listeners = publishEvents(kafka, events)
    const publish = listeners.listenerFor('order', 'order.placed')
    const envelope = await encodeEvent(events, 'order.placed', { id: 'a', total: 42 })
    const context = { signal: new AbortController().signal, attempt: 1 }
    registry.isDown = true
    await expect(publish?.(envelope, context)).rejects.toThrow(UnavailableError)
    // Events without the codec may still reach the partition: its destination is the narrowest.
    expect(listeners.destinationsOf?.(envelope).at(-1)).toBe('memory/subjects/orders')
    const other = createEnvelope({ eventType: 'other', payloadJson: '{}' })
    expect(listeners.destinationsOf?.(other).join()).not.toContain('memory')
    registry.isDown = false
    await publish?.(envelope, context)
  })
})
