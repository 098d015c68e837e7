import { BrokerSet } from './broker-set.ts'
import type { SimCluster } from './sim-cluster.ts'
import { resolveSimClusterOptions, type SimClusterOptions } from './sim-cluster-options.ts'

/** Makes a {@link SimCluster}. */
export function createSimCluster(options: SimClusterOptions = {}): SimCluster {
  return new BrokerSet(resolveSimClusterOptions(options))
}
