import type { Clock, MetricLabels, Metrics, MetricsStore } from '@waybill/core'
import { ratePerSecond } from '@waybill/core/internal'
import { hasMethods } from '@waybill/core/option'
import type { TopicPartition } from '@waybill/kafka'
import type { ContainerStatus, PartitionStatus } from '../api/binding-view.ts'
import type { BindingFigures, BindingRates, TierFigures } from '../api/control.ts'
import { bindingLabels } from '../binding/binding-label.ts'
import { metricName } from '../binding/binding-telemetry.ts'
import type { RegisteredBinding } from '../run/registered-binding.ts'
import { lagOf } from './lag-of.ts'

/** The sources of figures. */
export interface FigureDeps {
  readonly clock: Clock
  readonly metrics: Metrics
  /** Returns the end of a log at the last read; undefined before the first. */
  readonly endOf: (binding: RegisteredBinding, at: TopicPartition) => bigint | undefined
}

const rateWindowMs = 60_000

/** Returns the figures of a binding in this process. */
export function figuresOf(binding: RegisteredBinding, { clock, metrics, endOf }: FigureDeps): BindingFigures {
  const containers = binding.containers()
  const placed = containers.flatMap(({ place, members }) =>
    members.flatMap((member) => member.partitions.map((status) => ({ tier: place.tier, status }))),
  )
  const partitions = placed.map(({ status }) => status)
  const lags = lagOf(containers, (at) => endOf(binding, at))
  const sum = (of: 'buffered' | 'running' | 'unconfirmed' | 'waiting'): number =>
    partitions.reduce((total, one) => total + one[of], 0)
  return {
    partitions: partitions.length,
    lag: sumOf(lags.filter(({ tier }) => tier === 0)),
    retrying: sumOf(lags.filter(({ tier }) => tier > 0)),
    lagSeconds: lagSecondsOf(
      placed.filter(({ tier }) => tier === 0).map(({ status }) => status),
      clock.now(),
    ),
    rates: hasHistory(metrics) ? ratesOf(metrics, bindingLabels(binding)) : undefined,
    buffered: sum('buffered'),
    running: sum('running'),
    unconfirmed: sum('unconfirmed'),
    waiting: sum('waiting'),
    breaker: binding.breaker,
    circuit: binding.circuit,
    tiers: tiersOf(containers),
  }
}

function sumOf(lags: readonly { readonly records: bigint | undefined }[]): bigint | undefined {
  return lags.reduce<bigint | undefined>(
    (total, { records }) => (total === undefined || records === undefined ? undefined : total + records),
    0n,
  )
}

/** Returns when the oldest record of each tier is due: a record is due its delay after it was written there. */
function tiersOf(containers: readonly ContainerStatus[]): readonly TierFigures[] {
  const due = containers.flatMap(({ place: { tier, delayMs }, members }) =>
    members.flatMap(({ partitions }) =>
      partitions.flatMap(({ unsettledTimestamp: since }) =>
        tier === 0 || since === undefined ? [] : [{ tier, dueAtMs: since + delayMs }],
      ),
    ),
  )
  return [...Map.groupBy(due, ({ tier }) => tier)]
    .map(([tier, all]) => ({ tier, dueAtMs: Math.min(...all.map(({ dueAtMs }) => dueAtMs)) }))
    .toSorted((one, other) => one.tier - other.tier)
}

function lagSecondsOf(partitions: readonly PartitionStatus[], nowMs: number): number | undefined {
  if (partitions.length === 0) return undefined
  const oldest = partitions.reduce(
    (least, { unsettledTimestamp = nowMs }) => Math.min(least, unsettledTimestamp),
    nowMs,
  )
  return (nowMs - oldest) / 1_000
}

function hasHistory(metrics: Metrics): metrics is MetricsStore {
  return hasMethods(metrics, 'history')
}

function ratesOf(metrics: Pick<MetricsStore, 'history'>, labels: MetricLabels): BindingRates {
  const rate = (name: string): number => ratePerSecond(metrics.history(name, labels, rateWindowMs)) ?? 0
  return {
    processed: rate(metricName.processed),
    failed: rate(metricName.failed),
    dead: rate(metricName.deadLettered),
  }
}
