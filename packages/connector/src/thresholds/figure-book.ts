/** The figures of this process, from the measurements of its engines. */

import type { MetricLabels, Metrics } from '@waybill/core'
import { createFigureValue, type FigureValue } from './figure-value.ts'
import { type FigureSource, figureNames, figures, type MetricKind, type ThresholdFigure } from './figures.ts'

/** The labels that distinguish the figures of one name: a binding with its cluster, a topic. */
export type FigureSubject = Readonly<Record<string, string>>

/** A figure of one subject. */
export interface Figure {
  /** Identifies figure and subject. */
  readonly key: string
  readonly figure: ThresholdFigure
  readonly subject: FigureSubject
  readonly value: number
}

interface Series {
  readonly key: string
  readonly figure: ThresholdFigure
  readonly subject: FigureSubject
  readonly value: FigureValue
}

type Add = (labels: MetricLabels, value: number) => void

/** More subjects than bindings and topics of a process: each takes a few kilobytes. */
const maxSeries = 2_000

/** Keeps the figures that are watched. */
export class FigureBook {
  readonly #series = new Map<string, Series>()
  readonly #adders = new Map<string, readonly Add[]>()
  readonly #now: () => number
  readonly #full: () => void

  /** `full` is called when a figure cannot be kept; `now` is monotonic. */
  constructor(isWatched: (figure: ThresholdFigure) => boolean, now: () => number, full: () => void) {
    this.#now = now
    this.#full = full
    for (const figure of figureNames.filter(isWatched)) {
      const { kind, metric, position } = figures[figure]
      this.#listen(
        `${kind} ${metric}`,
        this.#adder(figure, (series, rest, value) => series.add(rest, value, now())),
      )
      if (position === undefined) continue
      const moved = this.#adder(figure, (series, rest, value) => series.moveTo?.(rest, value, now()))
      this.#listen(`${kind} ${position}`, moved)
    }
  }

  #listen(key: string, add: Add): void {
    this.#adders.set(key, [...(this.#adders.get(key) ?? []), add])
  }

  /** Returns a sink of measurements that passes them on. */
  sink(next: Metrics | undefined): Metrics {
    const method = (kind: MetricKind): Metrics[MetricKind] => {
      const adders = new Map(
        [...this.#adders].flatMap(([key, list]) =>
          key.startsWith(`${kind} `) ? [[key.slice(kind.length + 1), list]] : [],
        ),
      )
      return (name, labels, value) => {
        next?.[kind](name, labels, value)
        for (const add of adders.get(name) ?? []) add(labels, value)
      }
    }
    return Object.freeze({ counter: method('counter'), gauge: method('gauge'), histogram: method('histogram') })
  }

  /** Returns the current figures. */
  figures(): readonly Figure[] {
    const now = this.#now()
    return [...this.#series.values()].flatMap(({ key, figure, subject, value }) => {
      const current = value.at(now)
      return current === undefined ? [] : [{ key, figure, subject, value: current }]
    })
  }

  #adder(figure: ThresholdFigure, put: (value: FigureValue, rest: string, measured: number) => void): Add {
    const source = figures[figure]
    // Engines pass the same object for each record, so that its labels are read once.
    const known = new WeakMap<MetricLabels, { readonly series: Series; readonly rest: string }>()
    return (labels, value) => {
      if (!Number.isFinite(value) || !matches(source, labels)) return
      let found = known.get(labels)
      if (found === undefined) {
        const series = this.#seriesOf(figure, source, labels)
        if (series === undefined) return this.#full()
        known.set(labels, (found = { series, rest: restOf(source, labels) }))
      }
      put(found.series.value, found.rest, value)
    }
  }

  #seriesOf(figure: ThresholdFigure, source: FigureSource, labels: MetricLabels): Series | undefined {
    const subject = Object.freeze(Object.fromEntries(source.subject.map((label) => [label, String(labels[label])])))
    const key = JSON.stringify([figure, subject])
    const known = this.#series.get(key)
    if (known !== undefined || this.#series.size >= maxSeries) return known
    const series = { key, figure, subject, value: createFigureValue(source) }
    this.#series.set(key, series)
    return series
  }
}

function matches({ where = {} }: FigureSource, labels: MetricLabels): boolean {
  return Object.entries(where).every(([label, value]) => labels[label] === value)
}

/** Returns the labels that are not in the subject, as a text. */
function restOf({ subject }: FigureSource, labels: MetricLabels): string {
  return JSON.stringify(
    Object.entries(labels)
      .filter(([label]) => !subject.includes(label))
      .toSorted(([one], [other]) => (one < other ? -1 : 1)),
  )
}
