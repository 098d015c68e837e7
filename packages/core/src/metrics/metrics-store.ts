/**
 * Metrics in memory, for exporters, the admin API and its charts.
 *
 * A measurement through a bound function is an addition to a cell. Everything else, such as names, labels and text, happens
 * when the store is read. Exporters read it, and write nothing on the hot path.
 */

import { hasMethods } from '../option/has-methods.ts'
import { resolveOptions } from '../option/resolve-options.ts'
import { instance, integer, optional } from '../option/rule.ts'
import { type Runtime, systemRuntime } from '../runtime/runtime.ts'
import {
  bindMetric,
  type Measure,
  type MetricKind,
  type MetricLabels,
  type MetricMethod,
  type Metrics,
} from '../telemetry/metrics.ts'
import { type BucketCounts, bucketsOf, Cell } from './metric-cell.ts'

/** One series as it is now. */
export interface MetricReading {
  readonly name: string
  readonly kind: MetricKind
  readonly labels: Readonly<Record<string, string>>
  /** Of a counter or gauge; of a histogram its count. */
  readonly value: number
  /** Of a histogram. */
  readonly buckets: BucketCounts | undefined
  /** When the series began, epoch ms. */
  readonly sinceMs: number
}

/** A value at a time, epoch ms. */
export interface MetricPoint {
  readonly atMs: number
  readonly value: number
}

/** Metrics that exporters and the admin API read back. */
export interface MetricsStore extends Required<Metrics>, Disposable {
  /**
   * Returns all series. Gauges that were not set for a minute are left out, because their partition or binding is gone,
   * unless they are set only when they change.
   */
  read(): Iterable<MetricReading>
  /** Returns the sum of the series with these labels, a point every ten seconds, oldest first. */
  history(name: string, labels: MetricLabels, windowMs: number): readonly MetricPoint[]
  /** Measurements that were dropped: of series beyond the bound, or not a number. */
  readonly refused: number
}

/** Options of {@link createMetricsStore}. */
export interface MetricsStoreOptions {
  /** Series kept, over all names. @defaultValue 10,000 */
  readonly maxSeries?: number
  /** How far `history` goes back. @defaultValue one hour */
  readonly historyMs?: number
  /** Metrics that receive every measurement, too. @defaultValue none */
  readonly also?: Metrics
  readonly runtime?: Pick<Runtime, 'clock' | 'timers'>
}

const rules = {
  maxSeries: integer({ default: 10_000, min: 1, because: 'more means that a label carries ids' }),
  historyMs: integer({ default: 3_600_000, min: 10_000, because: 'charts show an hour' }),
  also: optional(
    instance<Metrics>('Metrics', (value) => ['counter', 'gauge', 'histogram'].every((one) => hasMethods(value, one))),
  ),
  runtime: optional(instance<Pick<Runtime, 'clock' | 'timers'>>('a Runtime', (value) => value !== null)),
}

const tickMs = 10_000
/** A gauge is set every few seconds while what it measures exists. */
const staleAfterTicks = 6
/** Series with a history: bounds its memory to about 6 MB. */
const maxHistories = 2_000

/** Creates a store. Pass it as `metrics` of a runtime. */
export function createMetricsStore(options: MetricsStoreOptions = {}): MetricsStore {
  const { maxSeries, historyMs, also, runtime = systemRuntime } = resolveOptions('createMetricsStore', rules, options)
  return new Store(maxSeries, Math.ceil(historyMs / tickMs), also, runtime)
}

class Store implements MetricsStore {
  readonly #maxSeries: number
  readonly #points: number
  readonly #also: Metrics | undefined
  readonly #runtime: Pick<Runtime, 'clock' | 'timers'>
  readonly #cells = new Map<string, Cell>()
  /** Cells by the identity of their label object, which engines keep: a lookup without a text. */
  readonly #known = new WeakMap<MetricLabels, Map<string, Measure>>()
  #tick = 0
  #timer: Disposable | undefined
  #isDisposed = false
  refused = 0

  constructor(
    maxSeries: number,
    points: number,
    also: Metrics | undefined,
    runtime: Pick<Runtime, 'clock' | 'timers'>,
  ) {
    this.#maxSeries = maxSeries
    this.#points = points
    this.#also = also
    this.#runtime = runtime
  }

  readonly counter: MetricMethod = (name, labels, value) => this.#measure('counter', name, labels, value)
  readonly gauge: MetricMethod = (name, labels, value) => this.#measure('gauge', name, labels, value)
  readonly histogram: MetricMethod = (name, labels, value) => this.#measure('histogram', name, labels, value)

  readonly bind = (kind: MetricKind, name: string, labels: MetricLabels): Measure => {
    const own = this.#measureOf(kind, this.#cellOf(kind, name, labels))
    const also = this.#also
    if (also === undefined) return own
    const other = bindMetric(also, kind, name, labels)
    return (value) => {
      own(value)
      other(value)
    }
  };

  *read(): Iterable<MetricReading> {
    for (const cell of this.#cells.values()) {
      if (cell.kind === 'gauge' && !cell.isLasting && this.#tick - cell.setAtTick > staleAfterTicks) continue
      const { kind, name, labels, value, sinceMs } = cell
      yield { kind, name, labels, value, sinceMs, buckets: kind === 'histogram' ? bucketsOf(cell) : undefined }
    }
    if (this.refused === 0) return
    const name = 'waybill.metrics.refused'
    yield { kind: 'counter', name, labels: {}, value: this.refused, sinceMs: 0, buckets: undefined }
  }

  history(name: string, labels: MetricLabels, windowMs: number): readonly MetricPoint[] {
    const wanted = Object.entries(labels).map(([label, value]) => [label, String(value)] as const)
    const found = [...this.#cells.values()].filter(
      (cell) =>
        cell.name === name && cell.points.length > 0 && wanted.every(([label, text]) => cell.labels[label] === text),
    )
    const now = this.#runtime.clock.now()
    const points: MetricPoint[] = []
    const oldest = Math.max(0, this.#tick - Math.min(this.#points, Math.floor(windowMs / tickMs)))
    for (let tick = oldest; tick < this.#tick; tick++) {
      const there = found.filter(({ firstTick }) => firstTick <= tick)
      if (there.length === 0) continue
      const value = there.reduce((sum, cell) => sum + (cell.points[tick % this.#points] ?? 0), 0)
      points.push({ atMs: now - (this.#tick - 1 - tick) * tickMs, value })
    }
    return points
  }

  [Symbol.dispose](): void {
    this.#isDisposed = true
    this.#timer?.[Symbol.dispose]()
  }

  #measure(kind: MetricKind, name: string, labels: MetricLabels, value: number): void {
    let known = this.#known.get(labels)
    if (known === undefined) this.#known.set(labels, (known = new Map()))
    const key = `${kind} ${name}`
    let measure = known.get(key)
    if (measure === undefined) known.set(key, (measure = this.bind(kind, name, labels)))
    measure(value)
  }

  #cellOf(kind: MetricKind, name: string, labels: MetricLabels): Cell | undefined {
    const texts = Object.entries(labels)
      .map(([label, value]): [string, string] => [label, String(value)])
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
    const key = JSON.stringify([kind, name, texts])
    const found = this.#cells.get(key)
    if (found !== undefined) return found
    if (this.#cells.size >= this.#maxSeries) return undefined
    const points = this.#cells.size < maxHistories ? this.#points : 0
    const cell = new Cell(kind, name, Object.fromEntries(texts), this.#runtime.clock.now(), points)
    cell.firstTick = this.#tick
    this.#cells.set(key, cell)
    this.#timer ??= this.#schedule()
    return cell
  }

  #measureOf(kind: MetricKind, cell: Cell | undefined): Measure {
    if (cell === undefined)
      return () => {
        this.refused++
      }
    switch (kind) {
      case 'counter':
        return (value) => {
          if (value >= 0 && value !== Number.POSITIVE_INFINITY) cell.value += value
          else this.refused++
        }
      case 'gauge':
        return (value) => {
          if (!Number.isFinite(value)) {
            this.refused++
            return
          }
          cell.value = value
          cell.setAtTick = this.#tick
        }
      case 'histogram':
        return (value) => {
          if (!Number.isFinite(value)) {
            this.refused++
            return
          }
          const { bounds, counts } = cell
          let at = 0
          while (at < bounds.length && value > (bounds[at] as number)) at++
          if (at < counts.length) counts[at] = (counts[at] as number) + 1
          cell.value++
          cell.sum += value
        }
    }
  }

  #schedule(): Disposable {
    return this.#runtime.timers.schedule(tickMs, () => {
      if (this.#isDisposed) return
      for (const { points, value } of this.#cells.values())
        if (points.length > 0) points[this.#tick % this.#points] = value
      this.#tick++
      this.#timer = this.#schedule()
    })
  }
}
