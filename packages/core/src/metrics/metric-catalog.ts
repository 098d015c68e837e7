import type { MetricKind } from '../telemetry/metrics.ts'

/** A metric that Waybill measures. */
export interface MetricInfo {
  /** The name in the engine. For metrics of an outbox: the part after its `metricsPrefix`. */
  readonly name: string
  readonly owner: 'CONNECTOR' | 'CLIENT' | 'OUTBOX' | 'PROJECTION' | 'ADMIN' | 'TELEMETRY'
  readonly kind: MetricKind
  /** A unit of UCUM; `ms` is exported as seconds. */
  readonly unit: string
  /** Label names, as the engine spells them. Those of an outbox have none here: exporters make its prefix a label. */
  readonly labels: readonly string[]
  readonly help: string
  /** Upper bounds of the buckets of a histogram, in its own unit. */
  readonly buckets?: readonly number[]
  /** True for a gauge that is set when it changes, and not every few seconds: an old value is still the value. */
  readonly isLasting: boolean
}

const durationMs = [1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000]

/** Buckets of a histogram that the catalog does not name. */
export const otherBuckets: readonly number[] = [1, 5, 10, 25, 50, 100, 250, 500, 1_000, 5_000, 10_000]

type Row = readonly [
  name: string,
  kind: MetricKind,
  unit: string,
  labels: readonly string[],
  help: string,
  buckets?: readonly number[],
]

const ofBinding = ['binding', 'cluster']

const connector: readonly Row[] = [
  [
    'eventbus.records.processed',
    'counter',
    '{record}',
    [...ofBinding, 'topic', 'partition'],
    'Records settled because their handler succeeded',
  ],
  [
    'eventbus.records.failed',
    'counter',
    '{record}',
    [...ofBinding, 'topic', 'exception'],
    'Failed deliveries, after their attempts in memory',
  ],
  ['eventbus.records.dlq', 'counter', '{record}', [...ofBinding, 'topic', 'reason'], 'Confirmed dead letters'],
  ['eventbus.records.skipped', 'counter', '{record}', [...ofBinding, 'topic', 'cause'], 'Records skipped, by cause'],
  [
    'eventbus.retry.count',
    'histogram',
    '{call}',
    [...ofBinding, 'tier'],
    'Handler calls of one delivery',
    [1, 2, 3, 4, 5, 8, 13],
  ],
  [
    'eventbus.processing.duration',
    'histogram',
    'ms',
    [...ofBinding, 'listenerType'],
    'Time in the handler, without the delays between attempts',
    durationMs,
  ],
  [
    'eventbus.batch.size',
    'histogram',
    '{record}',
    ofBinding,
    'Records of one poll',
    [1, 5, 10, 25, 50, 100, 250, 500, 1_000],
  ],
  [
    'eventbus.poll.interval.safety.triggered',
    'counter',
    '{slice}',
    ofBinding,
    'Slices that took too much of the poll interval',
  ],
  ['eventbus.circuit.opened', 'counter', '{change}', ofBinding, 'Times the breaker opened'],
  ['eventbus.circuit.recovered', 'counter', '{change}', ofBinding, 'Times the breaker closed again'],
  ['eventbus.records.lost', 'counter', '{record}', ofBinding, 'Pending records that are no longer in the log'],
  ['eventbus.audit.unaccounted', 'counter', '{commit}', ofBinding, 'Commits of unknown origin'],
  [
    'eventbus.rebalances',
    'counter',
    '{rebalance}',
    [...ofBinding, 'topic', 'outcome'],
    'Rebalances of the group, by outcome',
  ],
  [
    'eventbus.partitions.revoked',
    'counter',
    '{partition}',
    [...ofBinding, 'topic', 'cause'],
    'Partitions given up, by cause',
  ],
  ['eventbus.health', 'gauge', '1', [], 'Health of the connector: 0 UP, 1 DEGRADED, 2 DOWN'],
  [
    'eventbus.container.state',
    'gauge',
    '1',
    ofBinding,
    'State of the binding: 0 CREATED, 1 RUNNING, 2 PAUSED, 3 STOPPED, 4 DESTROYED',
  ],
  [
    'eventbus.binding.info',
    'gauge',
    '1',
    [...ofBinding, 'group', 'preset'],
    'Always 1: the consumer group and the preset of a binding, to join with its other metrics',
  ],
  ['eventbus.circuit.state', 'gauge', '1', ofBinding, 'State of the breaker: 0 closed, 1 open, 2 half-open'],
  [
    'eventbus.consumer.lag',
    'gauge',
    '{record}',
    [...ofBinding, 'partition'],
    'Offsets between the lowest unsettled one and the end of the source',
  ],
  ['eventbus.consumer.lag.seconds', 'gauge', 's', [...ofBinding, 'partition'], 'Age of the lowest unsettled record'],
  [
    'eventbus.consumer.position',
    'gauge',
    '{record}',
    [...ofBinding, 'partition'],
    'Lowest unsettled offset of a partition; the sum where a binding reads several topics',
  ],
  [
    'eventbus.poll.idle.ratio',
    'gauge',
    '1',
    ofBinding,
    'Share of the last 30 seconds in which no handler of the binding ran in this process',
  ],
  ['eventbus.retry.tier.depth', 'gauge', '{record}', [...ofBinding, 'tier'], 'Records that wait in a retry tier'],
  ['eventbus.dlt.depth', 'gauge', '{record}', ofBinding, 'Offsets in the dead letter topic; the same in every process'],
]

const client: readonly Row[] = [
  [
    'kafka.produce.duration',
    'histogram',
    'ms',
    ['cluster', 'topic'],
    'From the send of a record to the acknowledgment of its batch',
    durationMs,
  ],
  ['kafka.produce.records', 'counter', '{record}', ['cluster', 'topic'], 'Records that a producer wrote'],
  [
    'kafka.produce.failed',
    'counter',
    '{record}',
    ['cluster', 'topic', 'reason'],
    'Records whose send was rejected, by reason',
  ],
  [
    'kafka.topic.under.replicated.partitions',
    'gauge',
    '{partition}',
    ['cluster', 'topic'],
    'Partitions with fewer in-sync replicas than replicas; the same in every process',
  ],
]

const projection: readonly Row[] = [
  ['projection.events', 'counter', '{event}', ['projection', 'outcome'], 'Events of a projection, by outcome'],
  ['projection.rows.written', 'counter', '{row}', ['projection'], 'Rows that a projection wrote'],
  [
    'projection.quarantined.keys',
    'gauge',
    '{key}',
    ['projection'],
    'Keys whose events are dead-lettered until an operator releases them',
  ],
]

const admin: readonly Row[] = [
  [
    'eventbus.replay.settled',
    'counter',
    '{record}',
    [...ofBinding, 'outcome'],
    'Copies that operations wrote and this process settled, by outcome',
  ],
  [
    'eventbus.operations',
    'gauge',
    '{operation}',
    ['type', 'state'],
    'Operations that have not ended; the same in every process that shares their store',
  ],
  [
    'eventbus.operation.records',
    'counter',
    '{record}',
    ['type', 'outcome'],
    'Records that operations went through in this process, by outcome',
  ],
]

const outbox: readonly Row[] = [
  ['enqueue.hot', 'counter', '{event}', [], 'Events queued directly after their commit'],
  ['enqueue.hot.dropped', 'counter', '{event}', [], 'Events that had no room in the hot queue'],
  ['enqueue.cold', 'counter', '{event}', [], 'Rows found in the table'],
  ['dispatch.success', 'counter', '{event}', [], 'Rows marked DONE'],
  ['dispatch.failure', 'counter', '{event}', [], 'Failed attempts that are retried'],
  ['dispatch.dead', 'counter', '{event}', [], 'Rows marked DEAD'],
  ['finish.fenced', 'counter', '{event}', [], 'Outcomes that came too late'],
  ['lease.expired', 'counter', '{event}', [], 'Rows not started, or aborted, because their lease expired'],
  ['queue.hot.depth', 'gauge', '{event}', [], 'Rows in the hot queue'],
  ['queue.cold.depth', 'gauge', '{event}', [], 'Rows in the cold queue'],
  ['buffered.bytes', 'gauge', 'By', [], 'Bytes of events in memory'],
  ['lag.oldest.ms', 'gauge', 'ms', [], 'Age of the oldest event that is committed and not delivered'],
  ['rows.pending', 'gauge', '{event}', [], 'Rows that are not settled'],
  ['rows.retrying', 'gauge', '{event}', [], 'Pending rows that failed at least once'],
  ['rows.dead', 'gauge', '{event}', [], 'DEAD rows'],
  ['health', 'gauge', '1', [], 'Health of the outbox: 0 UP, 1 DEGRADED, 2 DOWN'],
  ['destination.unavailable', 'gauge', '{destination}', [], 'Destinations that deliveries wait for'],
  ['keyed.shards', 'gauge', '{shard}', [], 'Shards that this node holds'],
  ['keyed.held', 'gauge', '{key}', [], 'Keys held back by a delayed or DEAD event'],
  ['keyed.saturated', 'gauge', '1', [], '1 while reading is paused because too many keys are held back'],
  ['keyed.buffered', 'gauge', '{event}', [], 'Rows in memory'],
]

const telemetry: readonly Row[] = [
  ['backpressure.level', 'gauge', '1', [], 'Pressure on the service: 0 NORMAL, 1 ELEVATED, 2 CRITICAL'],
  ['backpressure.input', 'gauge', '1', ['input'], 'Last value of an input of backpressure'],
  ['waybill.metrics.refused', 'counter', '{measurement}', [], 'Measurements of series beyond the bound of the store'],
]

const lasting: ReadonlySet<string> = new Set([
  'projection.quarantined.keys',
  'buffered.bytes',
  'keyed.shards',
  'keyed.held',
  'keyed.saturated',
  'keyed.buffered',
])

function infosOf(owner: MetricInfo['owner'], rows: readonly Row[]): MetricInfo[] {
  return rows.map(([name, kind, unit, labels, help, buckets]) =>
    Object.freeze({
      name,
      owner,
      kind,
      unit,
      labels,
      help,
      isLasting: lasting.has(name),
      ...(buckets === undefined ? {} : { buckets }),
    }),
  )
}

/** All metrics, for exporters and docs. */
export const metricCatalog: readonly MetricInfo[] = Object.freeze([
  ...infosOf('CONNECTOR', connector),
  ...infosOf('CLIENT', client),
  ...infosOf('OUTBOX', outbox),
  ...infosOf('PROJECTION', projection),
  ...infosOf('ADMIN', admin),
  ...infosOf('TELEMETRY', telemetry),
])

const byName = new Map(metricCatalog.map((info) => [info.name, info]))
/** Longest first: `enqueue.hot.dropped` ends in no shorter name, but `health` may. */
const outboxTails = outbox.map(([name]) => name).toSorted((one, other) => other.length - one.length)

/** A metric, and the prefix of the outbox that measured it. */
export interface IdentifiedMetric {
  readonly info: MetricInfo
  readonly prefix: string | undefined
}

/** Returns the catalog's entry of an engine name; undefined for metrics of applications. */
export function identifyMetric(name: string): IdentifiedMetric | undefined {
  const info = byName.get(name)
  if (info !== undefined && info.owner !== 'OUTBOX') return { info, prefix: undefined }
  const tail = outboxTails.find((one) => name.endsWith(`.${one}`))
  const found = tail === undefined ? undefined : byName.get(tail)
  return found === undefined ? undefined : { info: found, prefix: name.slice(0, -found.name.length - 1) }
}
