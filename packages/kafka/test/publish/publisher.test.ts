import { OptionsError, StateError } from '@waybill/core'
import { createKafkaClient, KafkaError, type OutRecord } from '@waybill/kafka'
import { createSimCluster, createVirtualRuntime } from '@waybill/sim'
import { orderEvents } from '@waybill/test-support/kafka'
import { describe, expect, test } from 'vitest'
import { createPublisher } from '../../src/publish/publisher.ts'
import { testPublisher } from './publisher-behaviour.ts'

describe('a publisher on a simulated cluster', () => {
  testPublisher((program) => {
    const runtime = createVirtualRuntime(1)
    return runtime.run(async () => {
      const sim = createSimCluster({ runtime })
      const transport = sim.transport('publisher')
      await using kafka = createKafkaClient({ brokers: ['sim:1'], transport, runtime })
      const createTopic = async (): Promise<string> => {
        sim.createTopic('shipments', { partitions: 4 })
        return 'shipments'
      }
      await program({ kafka, runtime, createTopic })
    })
  })
})

/** A client whose producer does what the test says. */
function clientWith(send: (record: OutRecord) => Promise<{ partition: number; offset: bigint }>) {
  const made: string[] = []
  const closed: string[] = []
  const close = async (): Promise<void> => void closed.push('closed')
  const producer = { send, flush: async () => {}, close, [Symbol.asyncDispose]: close }
  return {
    made,
    closed,
    producer: (preset: string) => {
      made.push(preset)
      return producer
    },
  }
}

const written = async () => ({ partition: 0, offset: 0n })

describe('a publisher', () => {
  const events = orderEvents()

  test('makes one producer for events, with the first event, and closes it', async () => {
    const kafka = clientWith(written)
    const publisher = createPublisher(kafka, events)
    expect(kafka.made).toEqual([])
    await publisher.publish('order.cancelled', { orderId: 'o-1' })
    await publisher.publish('order.cancelled', { orderId: 'o-2' })
    expect(kafka.made).toEqual(['EVENT'])
    await publisher.close()
    expect(kafka.closed).toEqual(['closed'])
  })

  test('answers only after the confirmation, and fails with what the producer says', async () => {
    const unknown = new KafkaError('No answer came.', 'UNKNOWN')
    const publisher = createPublisher(
      clientWith(() => Promise.reject(unknown)),
      events,
    )
    await expect(publisher.publish('order.cancelled', { orderId: 'o-1' })).rejects.toBe(unknown)
  })

  test('writes nothing after it is closed', async () => {
    const kafka = clientWith(written)
    const publisher = createPublisher(kafka, events)
    await publisher.close()
    await expect(publisher.publish('order.cancelled', { orderId: 'o-1' })).rejects.toThrow(StateError)
    expect(kafka.made).toEqual([])
  })

  test('refuses a runtime that is none', () => {
    expect(() => createPublisher(clientWith(written), events, { runtime: {} as never })).toThrow(OptionsError)
  })
})
