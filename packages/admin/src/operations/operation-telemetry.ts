/** Counts the records of operations and the outcomes of their copies, and sets the gauge of operations that have not ended. */

import { type MetricLabels, onEngineEvent, type Runtime } from '@waybill/core'
import { bindMetric, type Measure, type OperationStore, type OperationType } from '@waybill/core/internal'
import { repeatEvery } from './repeat-every.ts'

type Outcome = 'SENT' | 'REFUSED' | 'MAY_REPEAT'

/** A gauge that is not set for a minute is gone. */
const everyMs = 15_000
/** Operations that are counted: more of them at the same time need a look anyway. */
const most = 500
const open = ['PLANNED', 'RUNNING', 'PAUSED'] as const

/** See the file's comment. */
export class OperationTelemetry {
  readonly #store: Pick<OperationStore, 'list'>
  readonly #runtime: Runtime
  readonly #counters = new Map<string, Measure>()
  readonly #closing = new AbortController()
  /** Series that were set: without such operations they become 0. */
  readonly #known = new Map<string, Measure>()
  #subscription: Disposable | undefined
  #measuring: Promise<void> | undefined

  constructor(store: Pick<OperationStore, 'list'>, runtime: Runtime) {
    this.#store = store
    this.#runtime = runtime
  }

  /** Measures until it is closed. */
  start(): void {
    this.#subscription ??= onEngineEvent('replay:settled', ({ binding, cluster, outcome }) =>
      this.#count('eventbus.replay.settled', { binding, cluster, outcome }, 1),
    )
    this.#measuring ??= repeatEvery(this.#runtime, { everyMs, signal: this.#closing.signal }, () => this.#measure())
  }

  /** Never rejects. */
  async close(): Promise<void> {
    this.#subscription?.[Symbol.dispose]()
    this.#closing.abort()
    await this.#measuring
  }

  /** Counts records that an operation went through. */
  count(type: OperationType, outcome: Outcome, records: number): void {
    if (records > 0) this.#count('eventbus.operation.records', { type, outcome }, records)
  }

  #count(name: string, labels: MetricLabels, value: number): void {
    const key = JSON.stringify([name, labels])
    let measure = this.#counters.get(key)
    if (measure === undefined)
      this.#counters.set(key, (measure = bindMetric(this.#runtime.metrics, 'counter', name, Object.freeze(labels))))
    measure(value)
  }

  /** Never rejects. */
  async #measure(): Promise<void> {
    try {
      const { items } = await this.#store.list({ states: open }, { limit: most })
      const counts = new Map<string, number>([...this.#known.keys()].map((key) => [key, 0]))
      for (const { type, state } of items) {
        const key = `${type} ${state}`
        counts.set(key, (counts.get(key) ?? 0) + 1)
        if (this.#known.has(key)) continue
        const labels = Object.freeze({ type, state })
        this.#known.set(key, bindMetric(this.#runtime.metrics, 'gauge', 'eventbus.operations', labels))
      }
      for (const [key, count] of counts) this.#known.get(key)?.(count)
    } catch (err) {
      this.#runtime.logger.warn({ err }, 'Operations not counted, retrying')
    }
  }
}
