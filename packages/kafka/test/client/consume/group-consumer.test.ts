import { systemRuntime } from '@waybill/core'
import { createSimCluster, createVirtualRuntime } from '@waybill/sim'
import { describe, test } from 'vitest'
import { consumerBehaviours } from './behaviour.ts'
import { simPlace } from './sim-place.ts'
import { TestCluster } from './test-cluster.ts'

describe('a group consumer on a simulated cluster', () => {
  test.concurrent.each(consumerBehaviours)('$title', async ({ run }) => {
    await using cluster = new TestCluster(simPlace(createSimCluster({ brokers: 2 }), systemRuntime))
    await run(cluster)
  })
})

describe('a group consumer in virtual time', () => {
  test.each(consumerBehaviours)('$title', async ({ run }) => {
    const runtime = createVirtualRuntime(1)
    await runtime.run(async () => {
      await using cluster = new TestCluster(simPlace(createSimCluster({ brokers: 3, runtime }), runtime))
      await run(cluster)
    })
  })
})
