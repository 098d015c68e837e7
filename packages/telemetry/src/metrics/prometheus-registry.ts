/** Waybill's metrics beside those of the application, in a registry of prom-client. */

import type { MetricsStore } from '@waybill/core'
import { exportedMetric, type MetricFamily, metricCatalog, metricFamilies, samplesOf } from '@waybill/core/internal'
import { type Metric, Registry } from 'prom-client'

/** Options of {@link prometheusRegistry}. */
export interface PrometheusRegistryOptions {
  /** Added to every series; a label of the engine wins. @defaultValue none */
  readonly labels?: Readonly<Record<string, string>> | undefined
  /** Receives the metrics. @defaultValue a new registry */
  readonly registry?: Registry | undefined
}

/**
 * Registers the metrics of a store with prom-client. They are read when the registry is scraped; measurements never pass
 * through prom-client, where they cost twenty times as much.
 *
 * A metric of the application that the store met after the call appears with the second scrape after that.
 */
export function prometheusRegistry(
  store: MetricsStore,
  { labels, registry = new Registry() }: PrometheusRegistryOptions = {},
): Registry {
  new StoreCollector(store, labels, registry).register()
  return registry
}

/** The samples of a metric at a scrape. */
interface ScrapedMetric {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly aggregator: 'sum' | 'max'
  readonly values: readonly {
    readonly metricName: string
    readonly labels: Readonly<Record<string, string>>
    readonly value: number
  }[]
}

class StoreCollector {
  readonly #store: MetricsStore
  readonly #labels: Readonly<Record<string, string>> | undefined
  readonly #registry: Registry
  readonly #registered = new Set<string>()
  #scrape: ReadonlyMap<string, MetricFamily> | undefined

  constructor(store: MetricsStore, labels: Readonly<Record<string, string>> | undefined, registry: Registry) {
    this.#store = store
    this.#labels = labels
    this.#registry = registry
  }

  register(): void {
    for (const { name, owner, kind } of metricCatalog)
      this.#add(exportedMetric(owner === 'OUTBOX' ? `outbox.${name}` : name, kind))
    this.#addUnknown(this.#read())
  }

  #addUnknown(families: ReadonlyMap<string, MetricFamily>): void {
    for (const family of families.values()) if (!this.#registered.has(family.name)) this.#add(family)
  }

  #add({ name, help, kind, isShared }: Omit<MetricFamily, 'series'>): void {
    this.#registered.add(name)
    const facts = { name, help, type: kind, aggregator: isShared ? ('max' as const) : ('sum' as const) }
    const metric = {
      ...facts,
      get: (): Promise<ScrapedMetric> => Promise.resolve({ ...facts, values: this.#valuesOf(name) }),
      reset: () => {},
    }
    // The type names prom-client's own classes; the registry calls `get` only.
    this.#registry.registerMetric(metric as unknown as Metric)
  }

  #valuesOf(name: string): ScrapedMetric['values'] {
    const family = this.#families().get(name)
    if (family === undefined) return []
    return samplesOf(family).map(({ name: metricName, labels, value }) => ({ metricName, labels, value }))
  }

  /** Reads the store once for all metrics of a scrape: prom-client asks for them in one turn. */
  #families(): ReadonlyMap<string, MetricFamily> {
    if (this.#scrape !== undefined) return this.#scrape
    const families = this.#read()
    this.#scrape = families
    queueMicrotask(() => {
      this.#scrape = undefined
    })
    this.#addUnknown(families)
    return families
  }

  #read(): ReadonlyMap<string, MetricFamily> {
    return new Map(metricFamilies(this.#store, this.#labels).map((family) => [family.name, family]))
  }
}
