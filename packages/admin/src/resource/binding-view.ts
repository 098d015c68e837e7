import type { BindingView } from '@waybill/connector'
import type { BindingFigures, InstanceStatus, PartitionStatus } from '@waybill/connector/internal'
import { ratePerSecond } from '@waybill/core/internal'
import { instantOf } from '../json/write-json.ts'
import type { AdminServices } from '../service/admin-services.ts'
import { bindingKey } from '../service/find-binding.ts'

/** Returns the labels of the metrics of a binding. */
export function labelsOf({ name, cluster }: Pick<BindingView, 'name' | 'cluster'>): {
  binding: string
  cluster: string
} {
  return { binding: name, cluster }
}

/** Returns a binding as lists show it. */
export async function summaryOf(services: AdminServices, view: BindingView): Promise<object> {
  const { connector, options } = services
  const statuses = connector === undefined ? [] : await connector.admin.statuses()
  const ours = statuses.filter(({ target }) => target.binding === view.name && target.cluster === view.cluster)
  const figures = ours.flatMap((one) => (one.isAlive && one.figures !== undefined ? [one.figures] : []))
  return {
    key: bindingKey(view),
    name: view.name,
    cluster: view.cluster,
    topic: view.topic,
    topics: view.topics,
    groupId: view.groupId,
    state: view.state,
    pausedBy: view.pausedBy,
    breaker: circuitOf(view, ours),
    instances: countsOf(ours),
    lag: lagOf(figures),
    retrying: retryingOf(figures),
    dead: deadOf(services, view),
    rates: ratesOf(figures),
    asOf: instantOf(options.runtime.clock.now()),
  }
}

function countsOf(statuses: readonly InstanceStatus[]): object {
  const alive = statuses.filter(({ isAlive }) => isAlive)
  const count = (state: string): number => alive.filter((one) => one.state === state).length
  const running = count('RUNNING')
  const paused = count('PAUSED')
  return { alive: alive.length, running, paused, other: alive.length - running - paused }
}

/** Returns the worst breaker of all instances with its counts and the time of its next probe. */
function circuitOf(view: BindingView, statuses: readonly InstanceStatus[]): object {
  const figures = statuses.flatMap((one) => (one.isAlive && one.figures !== undefined ? [one.figures] : []))
  const state = breakerOf(view, figures)
  const worst = statuses
    .filter(({ isAlive, figures: one }) => isAlive && one?.breaker === state && one.circuit !== undefined)
    .toSorted((one, other) => failureRateOf(other) - failureRateOf(one))[0]
  const { calls, failureRate, slowCallRate, nextProbeInMs } = worst?.figures?.circuit ?? {}
  return {
    state,
    failureRate: shareOf(failureRate),
    slowRate: shareOf(slowCallRate),
    calls: calls ?? null,
    nextProbeAt: nextProbeInMs === undefined ? null : instantOf(wholeSeconds((worst?.seenAtMs ?? 0) + nextProbeInMs)),
  }
}

/** Returns a share from 0 to 1: a breaker counts in percent. */
function shareOf(percent: number | undefined): number | null {
  return percent === undefined ? null : percent / 100
}

/** Rounds to seconds: a time that each status computes anew must not look like a change of the binding. */
function wholeSeconds(atMs: number): number {
  return Math.round(atMs / 1_000) * 1_000
}

function failureRateOf({ figures }: InstanceStatus): number {
  return figures?.circuit?.failureRate ?? 0
}

/** The worst state of all instances: each has a breaker of its own. */
function breakerOf({ breaker }: BindingView, figures: readonly BindingFigures[]): BindingView['breaker'] {
  const all = [breaker, ...figures.map((one) => one.breaker)]
  return (['OPEN', 'HALF_OPEN'] as const).find((state) => all.includes(state)) ?? 'CLOSED'
}

/** The lag of the source in all instances. Null where the end of a log is not known yet, never 0. */
function lagOf(figures: readonly BindingFigures[]): object {
  const seconds = figures.flatMap(({ lagSeconds }) => (lagSeconds === undefined ? [] : [lagSeconds]))
  const hasPartitions = figures.some(({ partitions }) => partitions > 0)
  return {
    records: hasPartitions ? sumOf(figures.map(({ lag }) => lag)) : null,
    seconds: seconds.length === 0 ? null : Math.max(...seconds),
  }
}

/** Records in tiers and held back by their key, in all instances. */
function retryingOf(figures: readonly BindingFigures[]): bigint | null {
  return sumOf(
    figures.map(({ retrying, waiting }) => (retrying === undefined ? undefined : retrying + BigInt(waiting))),
  )
}

function sumOf(counts: readonly (bigint | undefined)[]): bigint | null {
  return counts.reduce<bigint | null>((sum, one) => (sum === null || one === undefined ? null : sum + one), 0n)
}

/** The depth of the dead letter topics, as the connector last measured it. */
function deadOf({ options }: AdminServices, view: BindingView): object {
  const depth = latest(options, 'eventbus.dlt.depth', labelsOf(view))
  return { depth: depth === undefined ? null : BigInt(Math.round(depth)) }
}

/** The rates of the last minute in all instances whose metrics have a history. */
function ratesOf(figures: readonly BindingFigures[]): object {
  const all = figures.flatMap(({ rates }) => (rates === undefined ? [] : [rates]))
  const sum = (of: 'processed' | 'failed' | 'dead'): number | null =>
    all.length === 0 ? null : all.reduce((total, rates) => total + rates[of], 0)
  const dead = sum('dead')
  return {
    processedPerSecond: sum('processed'),
    failedPerSecond: sum('failed'),
    deadPerMinute: dead === null ? null : dead * 60,
  }
}

/** A partition with the container that reads it. */
export interface PlacedPartition {
  readonly tier: number
  readonly kind: string
  readonly groupId: string
  readonly member: number
  readonly status: PartitionStatus
}

/** Returns the partitions that this process reads for a binding. */
export function partitionsOf(view: BindingView): readonly PlacedPartition[] {
  return view.containers.flatMap(({ place: { tier, kind, groupId }, members }) =>
    members.flatMap(({ index, partitions }) =>
      partitions.map((status): PlacedPartition => ({ tier, kind, groupId, member: index, status })),
    ),
  )
}

type Measured = Pick<AdminServices['options'], 'metrics'>

/** Returns the sum of a metric now; undefined if it is not measured. */
export function latest(
  { metrics }: Measured,
  name: string,
  labels: Readonly<Record<string, string>>,
): number | undefined {
  if (metrics === undefined) return undefined
  const wanted = Object.entries(labels)
  const found = [...metrics.read()].filter(
    (one) => one.name === name && wanted.every(([label, value]) => one.labels[label] === value),
  )
  return found.length === 0 ? undefined : found.reduce((sum, { value }) => sum + value, 0)
}

const rateWindowMs = 60_000

/** Returns the rate of a counter over the last minute; null if it is not known. */
export function perSecond(
  { metrics }: Measured,
  name: string,
  labels: Readonly<Record<string, string>>,
): number | null {
  return ratePerSecond(metrics?.history(name, labels, rateWindowMs) ?? []) ?? null
}
