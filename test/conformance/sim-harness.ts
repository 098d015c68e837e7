import { EventEmitter } from 'node:events'
import { type Runtime, systemRuntime } from '@waybill/core'
import type { KafkaTransport } from '@waybill/kafka/wire'
import { createSimCluster, createVirtualRuntime, parentTransport, type SimCluster } from '@waybill/sim'
import type { ClusterUnderTest, KafkaCapabilities, KafkaHarness } from './kafka-harness.ts'

/** Settings of a simulated cluster. */
export interface SimHarnessOptions {
  readonly brokers: number
  /** The system clock, or a virtual one with this seed. */
  readonly time: 'SYSTEM' | { readonly seed: number }
  /** Whether tests reach the cluster as a forked child reaches that of its parent. */
  readonly throughChannel?: boolean
}

/** Returns a harness with a new simulated cluster for each test. */
export function simHarness({ brokers, time, throughChannel = false }: SimHarnessOptions): KafkaHarness {
  const capabilities: KafkaCapabilities = {
    SEVERAL_BROKERS: brokers > 2 ? true : { absent: `this one has ${brokers === 1 ? 'a single node' : 'two nodes'}` },
    FIRST_OFFSET: true,
    COMPACTION: true,
  }
  const nodes = brokers === 1 ? 'one node' : `${brokers} nodes`
  if (time === 'SYSTEM')
    return {
      name: `SimCluster of ${nodes} in real time${throughChannel ? ' in the parent process' : ''}`,
      capabilities,
      async run(test) {
        const cluster = createSimCluster({ brokers })
        const transport = throughChannel ? joinedTransport(cluster) : cluster.transport('conformance')
        await test(underTest(cluster, systemRuntime, transport))
      },
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

function carry(target: EventEmitter, message: object): true {
  const text = JSON.stringify(message)
  setImmediate(() => target.emit('message', JSON.parse(text)))
  return true
}

/** Joins both ends of a channel in one process. Messages pass through JSON, the default of fork(). */
function joinedTransport(cluster: SimCluster): KafkaTransport {
  const [parent, child] = [new EventEmitter(), new EventEmitter()]
  cluster.serve(Object.assign(parent, { connected: true, send: (message: object) => carry(child, message) }))
  return parentTransport(Object.assign(child, { send: (message: object) => carry(parent, message) }))
}

function underTest(
  cluster: SimCluster,
  runtime: Runtime,
  transport: KafkaTransport = cluster.transport('conformance'),
): ClusterUnderTest {
  return {
    brokers: cluster.brokers,
    transport,
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
