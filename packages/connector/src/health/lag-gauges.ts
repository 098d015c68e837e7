/**
 * The position and the lag of owned source partitions, in records and in seconds. The seconds are the age of the lowest unsettled record.
 * While that record was not fetched, for example because the partition is paused, they count from when the log was first
 * seen to be longer than what is settled: the record is at least as old.
 *
 * The specified labels do not include the topic. For equal partition numbers of several topics, records add up and the
 * longest age counts. A released partition becomes 0: its new owner measures it.
 */

import type { MetricLabels, Runtime } from '@waybill/core'
import type { PartitionStatus } from '../api/binding-view.ts'
import { type BindingName, bindingLabels } from '../binding/binding-label.ts'
import { metricName } from '../binding/binding-telemetry.ts'

/** A source partition of this process. */
export interface LaggingPartition {
  readonly binding: BindingName
  readonly status: Pick<PartitionStatus, 'topic' | 'partition' | 'watermark' | 'unsettledTimestamp'>
  /** The end of the log; undefined until it was read. */
  readonly end: bigint | undefined
}

interface Lag {
  readonly labels: MetricLabels
  records: number
  seconds: number
  position: bigint
}

interface Seen {
  readonly watermark: bigint
  readonly at: number
}

/** See the file's comment. */
export class LagGauges {
  readonly #runtime: Pick<Runtime, 'clock' | 'metrics'>
  /** The series that are not 0 or may change, by their labels. */
  #series = new Map<string, MetricLabels>()
  /** When each log was first seen to be longer than its watermark. */
  #seen = new Map<string, Seen>()

  constructor(runtime: Pick<Runtime, 'clock' | 'metrics'>) {
    this.#runtime = runtime
  }

  measure(owned: readonly LaggingPartition[]): void {
    const lags = new Map<string, Lag>()
    const released = this.#series
    const seenBefore = this.#seen
    this.#series = new Map()
    this.#seen = new Map()
    for (const one of owned) {
      const labels = { ...bindingLabels(one.binding), partition: one.status.partition }
      const key = JSON.stringify(labels)
      this.#series.set(key, labels)
      released.delete(key)
      if (one.end === undefined) continue
      const lag = lags.get(key) ?? { labels, records: 0, seconds: 0, position: 0n }
      lag.records += recordsOf(one)
      lag.seconds = Math.max(lag.seconds, this.#secondsOf(one, seenBefore))
      lag.position += one.status.watermark
      lags.set(key, lag)
    }
    for (const lag of lags.values()) this.#set(lag)
    for (const labels of released.values()) this.#setLag(labels, 0, 0)
  }

  #secondsOf(one: LaggingPartition, seenBefore: ReadonlyMap<string, Seen>): number {
    if (recordsOf(one) === 0) return 0
    const { clock } = this.#runtime
    const { topic, partition, watermark, unsettledTimestamp } = one.status
    const key = JSON.stringify([one.binding.cluster, one.binding.name, topic, partition])
    const before = seenBefore.get(key)
    const seen = before?.watermark === watermark ? before : { watermark, at: clock.monotonic() }
    this.#seen.set(key, seen)
    // A timestamp in the future counts as now.
    const ms = unsettledTimestamp === undefined ? clock.monotonic() - seen.at : clock.now() - unsettledTimestamp
    return Math.max(0, ms) / 1_000
  }

  #set({ labels, records, seconds, position }: Lag): void {
    this.#setLag(labels, records, seconds)
    this.#runtime.metrics.gauge(metricName.position, labels, Number(position))
  }

  #setLag(labels: MetricLabels, records: number, seconds: number): void {
    this.#runtime.metrics.gauge(metricName.lag, labels, records)
    this.#runtime.metrics.gauge(metricName.lagSeconds, labels, seconds)
  }
}

function recordsOf({ end, status }: LaggingPartition): number {
  const lag = (end ?? status.watermark) - status.watermark
  return lag > 0n ? Number(lag) : 0
}
