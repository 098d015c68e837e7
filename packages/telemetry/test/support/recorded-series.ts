/** Records the page of a metrics store as Prometheus does, and writes it as the input of a promtool test. */

import type { MetricsStore } from '@waybill/core'
import { prometheusText } from '@waybill/core/internal'
import type { VirtualRuntime } from '@waybill/sim'

const everyMs = 30_000

/** Scrapes in virtual time, from its creation until it is disposed. */
export class RecordedSeries implements Disposable {
  readonly #values = new Map<string, string[]>()
  readonly #store: MetricsStore
  readonly #runtime: VirtualRuntime
  #scrapes = 0
  #timer: Disposable | undefined

  constructor(store: MetricsStore, runtime: VirtualRuntime) {
    this.#store = store
    this.#runtime = runtime
    this.#scrape()
  }

  /** Minutes and seconds of the recording, as promtool writes a time. */
  get now(): string {
    return `${((this.#scrapes - 1) * everyMs) / 1_000}s`
  }

  /** Returns the input of `promtool test rules` with what fires at each time. */
  promtoolTest(
    ruleFile: string,
    firing: readonly { readonly at: string; readonly alerts: readonly string[] }[],
  ): string {
    const test = {
      interval: `${everyMs / 1_000}s`,
      input_series: [...this.#values].map(([series, values]) => ({ series, values: values.join(' ') })),
      promql_expr_test: firing.map(({ at, alerts }) => ({
        expr: 'sum by (alertname) (ALERTS{alertstate="firing"})',
        eval_time: at,
        exp_samples: alerts.map((alert) => ({ labels: `{alertname="${alert}"}`, value: 1 })),
      })),
    }
    // JSON is YAML.
    return JSON.stringify({ rule_files: [ruleFile], evaluation_interval: '30s', tests: [test] })
  }

  [Symbol.dispose](): void {
    this.#timer?.[Symbol.dispose]()
  }

  #scrape(): void {
    const seen = new Set<string>()
    for (const line of prometheusText(this.#store, { job: 'shop', instance: 'shop-0' }).split('\n')) {
      const at = line.lastIndexOf(' ')
      if (at < 0 || line.startsWith('#')) continue
      const series = line.slice(0, at)
      seen.add(series)
      // promtool fills what is before a series with gaps.
      const values = this.#values.get(series) ?? Array.from({ length: this.#scrapes }, () => '_')
      values.push(line.slice(at + 1))
      this.#values.set(series, values)
    }
    for (const [series, values] of this.#values) if (!seen.has(series)) values.push('stale')
    this.#scrapes++
    this.#timer = this.#runtime.timers.schedule(everyMs, () => this.#scrape())
  }
}
