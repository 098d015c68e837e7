import type { BindingView } from '@waybill/connector'
import { describeThrown, type MetricLabels } from '@waybill/core'
import { instantOf } from '../json/write-json.ts'
import type { Call } from '../route/call.ts'
import { type Route, route } from '../route/route.ts'
import { list, mapOf, object } from '../schema/composite-schemas.ts'
import { about, named, nullable, type Schema, withDefault } from '../schema/schema.ts'
import { age, anyNumber, instant, int64, integer, oneOf, openWord } from '../schema/value-schemas.ts'
import type { AdminServices } from '../service/admin-services.ts'
import { findBinding, visibleBindings } from '../service/find-binding.ts'
import { words } from './answer-schemas.ts'
import { labelsOf, latest, partitionsOf, perSecond } from './binding-view.ts'
import { type FleetPartition, fleetPartitions } from './fleet-lags.ts'

const partitionSchema: Schema = named(
  'Partition',
  object({
    topic: words,
    partition: integer(),
    kind: openWord(['SOURCE', 'TIER']),
    tier: integer(),
    instance: nullable(words),
    owner: nullable(object({ clientId: words, instanceId: nullable(words), host: words })),
    member: nullable(integer()),
    epoch: nullable(integer()),
    committed: nullable(int64),
    watermark: nullable(int64),
    end: nullable(int64),
    lag: nullable(int64),
    lagSeconds: nullable(anyNumber),
    buffered: nullable(integer()),
    running: nullable(integer()),
    oldestHandlerMs: nullable(anyNumber),
    unconfirmed: nullable(integer()),
    waiting: nullable(integer()),
    pausedBy: list(words),
    trouble: nullable(words),
  }),
)

const stageSchema: Schema = named(
  'Stage',
  object({
    kind: openWord(['SOURCE', 'TIER', 'DLT']),
    tier: nullable(integer()),
    topic: nullable(words),
    delayMs: nullable(integer()),
    depth: nullable(int64),
    /** When the oldest record of a tier is due, in all instances. Null: it has none, or none is known. */
    nextDueAt: nullable(instant),
    processedPerSecond: nullable(anyNumber),
    failedPerSecond: nullable(anyNumber),
  }),
)

const scopeSchema = openWord(['INSTANCE', 'FLEET'])

/** Metrics that charts show. */
const seriesNames = [
  'eventbus.records.processed',
  'eventbus.records.failed',
  'eventbus.records.dlq',
  'eventbus.records.skipped',
  'eventbus.consumer.lag',
  'eventbus.consumer.lag.seconds',
  'eventbus.retry.tier.depth',
  'eventbus.dlt.depth',
  'eventbus.circuit.state',
] as const

const seriesQuery = {
  metric: oneOf(seriesNames),
  window: withDefault(about('At most an hour is kept.', age), 'PT1H'),
}

const points = list(object({ at: instant, value: anyNumber }))

/** Routes that show how records flow through bindings. */
export function flowRoutes(services: AdminServices): readonly Route[] {
  const { connector, options } = services
  const read = { permission: 'bindings:read', of: 'SUBJECT' } as const
  const tag = 'Bindings'
  const find = (call: Call): ReturnType<typeof findBinding> =>
    findBinding(connector, call, call.params['name'] ?? '', 'bindings:read')
  return [
    route({
      id: 'listPartitions',
      method: 'GET',
      path: '/eventbus/bindings/{name}/partitions',
      tag,
      summary:
        'Lists the partitions of the source and the tiers: those of this process in detail, those of others by their commits',
      access: read,
      answer: object({ items: list(partitionSchema), scope: scopeSchema }),
      async run(call) {
        const { view } = find(call)
        const known = await ofFleet(services, view)
        const own = await ownRows(services, view)
        const isOwn = (one: FleetPartition): boolean =>
          own.some(
            ({ topic, partition, tier }) => one.topic === topic && one.partition === partition && one.tier === tier,
          )
        const others = (known ?? []).filter((one) => !isOwn(one)).map(otherRow)
        return { body: { items: [...own, ...others], scope: known === undefined ? 'INSTANCE' : 'FLEET' } }
      },
    }),
    route({
      id: 'getPipeline',
      method: 'GET',
      path: '/eventbus/bindings/{name}/pipeline',
      tag,
      summary:
        'Shows how many records wait in the source, each tier and the dead letter topics, and how fast they move here',
      access: read,
      answer: object({ key: words, stages: list(stageSchema), waiting: integer(), scope: scopeSchema }),
      async run(call) {
        const { view, key } = find(call)
        const known = await ofFleet(services, view)
        const waiting = partitionsOf(view).reduce((sum, { status }) => sum + status.waiting, 0)
        const scope = known === undefined ? 'INSTANCE' : 'FLEET'
        const due = await tierDues(services, view)
        return { body: { key, stages: stagesOf(services, view, known, due), waiting, scope } }
      },
    }),
    route({
      id: 'getSeries',
      method: 'GET',
      path: '/eventbus/bindings/{name}/series',
      tag,
      summary: 'Returns points of a metric of this process for charts, one every ten seconds',
      access: read,
      query: seriesQuery,
      answer: object({ metric: words, labels: mapOf(words), points }),
      run(call) {
        const labels = labelsOf(find(call).view)
        const { metric, window } = call.query
        return { body: { metric, labels, points: pointsOf(options, metric, [labels], window) } }
      },
    }),
    route({
      id: 'getTotalSeries',
      method: 'GET',
      path: '/eventbus/series',
      tag,
      summary: 'Returns points of a metric of this process, summed over the bindings that the operator may see',
      access: { permission: 'bindings:read', of: 'SOME' },
      query: seriesQuery,
      answer: object({ metric: words, points }),
      run({ grants, query: { metric, window } }) {
        const labels = visibleBindings(connector, grants).map(labelsOf)
        return { body: { metric, points: pointsOf(options, metric, labels, window) } }
      },
    }),
  ]
}

/** Returns the sums of several series, point by point from the newest. */
function pointsOf(
  { metrics }: AdminServices['options'],
  metric: string,
  labels: readonly MetricLabels[],
  windowMs: number,
): readonly object[] {
  const sums = new Map<number, number>()
  for (const one of labels)
    for (const { atMs, value } of metrics?.history(metric, one, windowMs) ?? []) {
      // All series of a store have their points at the same times, but for the clock between two reads.
      const at = Math.round(atMs / 1_000)
      sums.set(at, (sums.get(at) ?? 0) + value)
    }
  return [...sums]
    .toSorted(([one], [other]) => one - other)
    .map(([at, value]) => ({ at: instantOf(at * 1_000), value }))
}

/** Undefined if there is no client for the cluster, or it does not answer: what this process knows is worth showing. */
async function ofFleet({ options }: AdminServices, view: BindingView): Promise<readonly FleetPartition[] | undefined> {
  const client = Object.hasOwn(options.clusters, view.cluster) ? options.clusters[view.cluster] : undefined
  if (client === undefined) return undefined
  try {
    return await fleetPartitions(client, view)
  } catch (error) {
    options.runtime.logger.warn(
      { error: describeThrown(error), binding: view.name },
      'Partitions of a binding not read',
    )
    return undefined
  }
}

interface PartitionRow {
  readonly topic: string
  readonly partition: number
  readonly tier: number
}

async function ownRows(
  { connector, options: { runtime } }: AdminServices,
  view: BindingView,
): Promise<readonly PartitionRow[]> {
  const [self] = (await connector?.admin.instances()) ?? []
  const lags = connector?.admin.binding(`${view.cluster}:${view.name}`).lag ?? []
  return partitionsOf(view).map(({ tier, kind, member, status }) => {
    const lag = lags.find(
      (one) => one.topic === status.topic && one.partition === status.partition && one.tier === tier,
    )
    const { topic, partition, epoch, committed, watermark, buffered, running, unconfirmed, waiting, pausedBy } = status
    const since = status.unsettledTimestamp
    return {
      topic,
      partition,
      kind,
      tier,
      instance: self?.instance ?? null,
      owner: null,
      member,
      epoch,
      committed,
      watermark,
      end: lag?.end ?? null,
      lag: lag?.records ?? null,
      lagSeconds: since === undefined ? null : Math.max(0, runtime.clock.now() - since) / 1_000,
      buffered,
      running,
      oldestHandlerMs: status.runningSince === undefined ? null : runtime.clock.monotonic() - status.runningSince,
      unconfirmed,
      waiting,
      pausedBy,
      trouble: status.trouble ?? null,
    }
  })
}

/** A partition that this process does not read. */
function otherRow({ topic, partition, kind, tier, owner, committed, end, lag }: FleetPartition): object {
  const unknown = {
    instance: null,
    member: null,
    epoch: null,
    watermark: null,
    lagSeconds: null,
    buffered: null,
    running: null,
    oldestHandlerMs: null,
    unconfirmed: null,
    waiting: null,
    pausedBy: [],
    trouble: null,
  }
  return { ...unknown, topic, partition, kind, tier, owner, committed, end, lag }
}

/** Returns when the oldest record of each tier is due, in the instances that were heard of lately. */
async function tierDues({ connector }: AdminServices, view: BindingView): Promise<ReadonlyMap<number, number>> {
  const due = new Map<number, number>()
  for (const { target, isAlive, figures } of (await connector?.admin.statuses()) ?? []) {
    if (!isAlive || target.binding !== view.name || target.cluster !== view.cluster) continue
    for (const { tier, dueAtMs } of figures?.tiers ?? []) due.set(tier, Math.min(dueAtMs, due.get(tier) ?? dueAtMs))
  }
  return due
}

function stagesOf(
  { connector, options }: AdminServices,
  view: BindingView,
  known: readonly FleetPartition[] | undefined,
  due: ReadonlyMap<number, number>,
): readonly object[] {
  const { lag = [] } = connector?.admin.binding(`${view.cluster}:${view.name}`) ?? {}
  const stages = view.containers.map(({ place: { kind, tier, topic, delayMs } }) => {
    const own = lag.filter((one) => one.tier === tier && (kind !== 'SOURCE' || one.topic === topic))
    // A partition that is read here is known better than by its commits: a tier may have none yet.
    const all = known
      ?.filter((one) => one.tier === tier && one.topic === topic)
      .map((one) => own.find(({ partition }) => partition === one.partition)?.records ?? one.lag ?? undefined)
    const labels = { ...labelsOf(view), topic }
    return {
      kind,
      tier,
      topic,
      delayMs,
      depth: depthOf(all ?? own.map(({ records }) => records)),
      nextDueAt: kind === 'TIER' ? instantOf(due.get(tier)) : null,
      processedPerSecond: perSecond(options, 'eventbus.records.processed', labels),
      failedPerSecond: perSecond(options, 'eventbus.records.failed', labels),
    }
  })
  const dead = latest(options, 'eventbus.dlt.depth', labelsOf(view))
  const depth = dead === undefined ? null : BigInt(Math.round(dead))
  const dlt = { kind: 'DLT', tier: null, topic: null, delayMs: null, depth, nextDueAt: null }
  return [...stages, { ...dlt, processedPerSecond: null, failedPerSecond: null }]
}

/** Null unless all are known. A group that has committed nothing yet has an unknown lag. */
function depthOf(lags: readonly (bigint | undefined)[]): bigint | null {
  if (lags.length === 0) return null
  return lags.reduce<bigint | null>((sum, one) => (sum === null || one === undefined ? null : sum + one), 0n)
}
