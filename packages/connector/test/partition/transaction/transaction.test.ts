import { createSimCluster, createVirtualRuntime } from '@waybill/sim'
import { describe } from 'vitest'
import { testTransactions } from './transaction-behaviour.ts'

describe('transactional bindings on a simulated cluster', () => {
  testTransactions(async (program) => {
    const runtime = createVirtualRuntime(1)
    await runtime.run(async () => {
      const sim = createSimCluster({ brokers: 3, runtime })
      const createTopic = async (name: string, partitions: number): Promise<string> => {
        sim.createTopic(name, { partitions })
        return name
      }
      await program({ brokers: sim.brokers, runtime, transport: (name) => sim.transport(name), createTopic })
    })
  })
})
