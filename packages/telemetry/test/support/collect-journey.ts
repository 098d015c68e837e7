import type { SimCluster } from '@waybill/sim'
import { type CollectedSpan, OtlpCollector } from './otlp-collector.ts'
import { ServiceProcess } from './service-process.ts'

/** The cluster of both services. */
export interface JourneyCluster {
  readonly brokers: readonly string[]
  readonly prefix: string
  readonly simulated: SimCluster | undefined
}

/** Runs an order through a shop and a warehouse, its three tiers and a replay. Returns the spans that were collected. */
export async function collect({ brokers, prefix, simulated }: JourneyCluster): Promise<readonly CollectedSpan[]> {
  await using collector = await OtlpCollector.start()
  const both = { collectorUrl: collector.url, brokers, prefix, isSimulated: simulated !== undefined }
  await using shop = new ServiceProcess({ role: 'shop', ...both }, simulated)
  await using warehouse = new ServiceProcess({ role: 'warehouse', ...both }, simulated)
  await Promise.all([shop.hears('READY'), warehouse.hears('READY')])
  shop.order('PLACE')
  await Promise.all([shop.hears('PLACED'), warehouse.hears('DEAD')])
  warehouse.order('FIX_AND_REPLAY')
  await warehouse.hears('HANDLED')
  await Promise.all([shop.stop(), warehouse.stop()])
  return collector.spans()
}
