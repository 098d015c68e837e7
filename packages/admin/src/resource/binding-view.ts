import type { BindingView } from '@waybill/connector'
import type { InstanceStatus, PartitionStatus } from '@waybill/connector/internal'
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
  return {
    key: bindingKey(view),
    name: view.name,
    cluster: view.cluster,
    topic: view.topic,
    topics: view.topics,
    groupId: view.groupId,
    state: view.state,
    pausedBy: view.pausedBy,
    breaker: { state: view.breaker },
    instances: countsOf(ours),
    lag: lagOf(services, view),
    retrying: retryingOf(services, view),
    dead: deadOf(services, view),
    rates: ratesOf(services, view),
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

/** The lag of the source in this process. Null where the end of a log is not known yet, never 0. */
function lagOf({ connector, options }: AdminServices, view: BindingView): object {
  const lags = connector?.admin.binding(`${view.cluster}:${view.name}`).lag.filter(({ tier }) => tier === 0) ?? []
  const records = lags.map((one) => one.records)
  const isKnown = records.every((one) => one !== undefined) && lags.length > 0
  return {
    records: isKnown ? records.reduce<bigint>((sum, one) => sum + (one ?? 0n), 0n) : null,
    seconds: oldestSeconds(view, options.runtime.clock.now()),
  }
}

function oldestSeconds(view: BindingView, nowMs: number): number | null {
  const partitions = partitionsOf(view).filter(({ tier }) => tier === 0)
  if (partitions.length === 0) return null
  const stamps = partitions.flatMap(({ status }) =>
    status.unsettledTimestamp === undefined ? [] : [status.unsettledTimestamp],
  )
  return stamps.length === 0 ? 0 : Math.max(0, nowMs - Math.min(...stamps)) / 1_000
}

/** Records in tiers and held back by their key, in this process. */
function retryingOf({ connector }: AdminServices, view: BindingView): bigint | null {
  const lags = connector?.admin.binding(`${view.cluster}:${view.name}`).lag.filter(({ tier }) => tier > 0) ?? []
  const waiting = partitionsOf(view).reduce((sum, { status }) => sum + BigInt(status.waiting), 0n)
  if (lags.some(({ records }) => records === undefined)) return null
  return lags.reduce((sum, { records = 0n }) => sum + records, waiting)
}

/** The depth of the dead letter topics, as the connector last measured it. */
function deadOf({ options }: AdminServices, view: BindingView): object {
  const depth = latest(options, 'eventbus.dlt.depth', labelsOf(view))
  return { depth: depth === undefined ? null : BigInt(Math.round(depth)) }
}

function ratesOf({ options }: AdminServices, view: BindingView): object {
  const rate = (name: string): number | null => perSecond(options, name, labelsOf(view))
  const dead = rate('eventbus.records.dlq')
  return {
    processedPerSecond: rate('eventbus.records.processed'),
    failedPerSecond: rate('eventbus.records.failed'),
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
  const points = metrics?.history(name, labels, rateWindowMs) ?? []
  const [first, last] = [points[0], points.at(-1)]
  if (first === undefined || last === undefined || last.atMs <= first.atMs) return null
  return Math.max(0, last.value - first.value) / ((last.atMs - first.atMs) / 1_000)
}
