import { createKafkaClient } from '@waybill/kafka'
import { createSimCluster, createVirtualRuntime } from '@waybill/sim'
import { describe } from 'vitest'
import { testCommittedLedger } from './committed-ledger-behaviour.ts'

describe('a ledger committed to a simulated cluster', () => {
  testCommittedLedger((program) => {
    const runtime = createVirtualRuntime(1)
    return runtime.run(async () => {
      const sim = createSimCluster({ runtime })
      sim.createTopic('orders', { partitions: 1 })
      await using kafka = createKafkaClient({ brokers: ['sim:1'], transport: sim.transport('ledger'), runtime })
      await program({ kafka, topic: 'orders', groupId: 'shipping' })
    })
  })
})
