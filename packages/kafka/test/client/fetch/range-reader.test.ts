import { createSimCluster, createVirtualRuntime } from '@waybill/sim'
import { describe, expect, test } from 'vitest'
import { createKafkaClient } from '../../../src/client/kafka-client.ts'
import { testRangeReader } from './range-reader-behaviour.ts'

describe('a range reader on a simulated cluster', () => {
  testRangeReader(async (program) => {
    const runtime = createVirtualRuntime(1)
    await runtime.run(async () => {
      const sim = createSimCluster({ brokers: 2, runtime })
      await using client = createKafkaClient({ brokers: sim.brokers, transport: sim.transport('reader'), runtime })
      const createTopic = async (partitions: number): Promise<string> => {
        sim.createTopic('orders', { partitions })
        return 'orders'
      }
      await program({ client, createTopic })
    })
  })

  test('rejects when brokers are silent for too long, and continues after a short silence', async () => {
    const runtime = createVirtualRuntime(1)
    await runtime.run(async () => {
      const sim = createSimCluster({ runtime })
      sim.createTopic('orders')
      await using client = createKafkaClient({ brokers: sim.brokers, transport: sim.transport('reader'), runtime })
      await using producer = client.producer('EVENT')
      await producer.send({ topic: 'orders', key: null, value: null })
      const range = { topic: 'orders', partition: 0, from: 0n, until: 1n }
      const stalled = sim.stall({ api: 'Fetch' })
      await using patient = client.reader([range])
      const reading = patient.next(1)
      await runtime.timers.sleep(20_000)
      stalled[Symbol.dispose]()
      expect(await reading).toHaveLength(1)
      using _ = sim.stall({ api: 'Fetch' })
      await using reader = client.reader([range])
      await expect(reader.next(1)).rejects.toThrow('No progress on orders-0 within 60000 ms')
    })
  })
})
