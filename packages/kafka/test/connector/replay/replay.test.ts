import { createSimCluster, createVirtualRuntime } from '@waybill/sim'
import { describe } from 'vitest'
import { createKafkaClient } from '../../../src/client/kafka-client.ts'
import { testReplay } from './replay-behaviour.ts'

describe('DltReplay', () => {
  describe('dead letters on a simulated cluster', () => {
    testReplay(async (program) => {
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
})
