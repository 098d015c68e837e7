import { createSimCluster, createVirtualRuntime } from '@waybill/sim'
import { describe } from 'vitest'
import { createKafkaClient } from '../../../src/client/kafka-client.ts'
import { testKeyOrder } from './key-order-behaviour.ts'

describe('orderingMode KEY on a simulated cluster', () => {
  testKeyOrder(async (program) => {
    const runtime = createVirtualRuntime(1)
    await runtime.run(async () => {
      const sim = createSimCluster({ brokers: 3, runtime })
      const { brokers } = sim
      await using client = createKafkaClient({ brokers, transport: sim.transport('connector'), runtime })
      const createTopic = async (partitions: number): Promise<string> => {
        sim.createTopic('orders', { partitions })
        return 'orders'
      }
      await program({ client, runtime, createTopic })
    })
  })
})
