import { type Runtime, systemRuntime } from '@waybill/core'
import { createSimCluster, createVirtualRuntime, type SimCluster } from '@waybill/sim'
import type { ClusterUnderTest, KafkaCapabilities, KafkaHarness } from '@waybill/testkit/conformance'

/** How a simulated cluster is put together. */
export interface SimHarnessOptions {
  readonly brokers: number
  /** The system's clock, or a virtual one from this seed. */
  readonly time: 'SYSTEM' | { readonly seed: number }
}

/** A simulated cluster of its own for each test. */
export function simHarness({ brokers, time }: SimHarnessOptions): KafkaHarness {
  const capabilities: KafkaCapabilities = {
    SEVERAL_BROKERS: brokers > 2 ? true : { absent: `this one has ${brokers === 1 ? 'a single node' : 'two nodes'}` },
    FIRST_OFFSET: true,
    COMPACTION: true,
  }
  const nodes = brokers === 1 ? 'one node' : `${brokers} nodes`
  if (time === 'SYSTEM')
    return {
      name: `SimCluster of ${nodes} in real time`,
      capabilities,
      run: (test) => test(underTest(createSimCluster({ brokers }), systemRuntime)),
    }
  return {
    name: `SimCluster of ${nodes} in virtual time (seed ${time.seed})`,
    capabilities,
    run: (test) => {
      const runtime = createVirtualRuntime(time.seed)
      return runtime.run(() => test(underTest(createSimCluster({ brokers, runtime }), runtime)))
    },
  }
}

function underTest(cluster: SimCluster, runtime: Runtime): ClusterUnderTest {
  return {
    brokers: cluster.brokers,
    transport: cluster.transport('conformance'),
    runtime,
    named: (name) => name,
    async createTopicAt(name, firstOffset) {
      cluster.createTopic(name, { firstOffset })
    },
    async compact(topic, partition) {
      cluster.compact(topic, partition)
    },
  }
}
