import type { Runtime } from '@waybill/core'
import type { SimCluster } from '@waybill/sim'
import type { TestClusterPlace } from './test-cluster.ts'

/** A simulated cluster as the place of a test. */
export function simPlace(sim: SimCluster, runtime: Runtime): TestClusterPlace {
  return {
    runtime,
    bootstrap: sim.brokers.map((address) => {
      const [host = '', port = ''] = address.split(':')
      return { host, port: Number(port) }
    }),
    transport: (client) => sim.transport(client),
    named: (name) => name,
  }
}
