/** Computes the difference between a declared topology and a cluster. Pure: reading the cluster is separate. */

import { BUCKET_COUNT, partitionOfBucket } from '@waybill/core/internal'
import type { ConfigEntry } from '../client/admin/admin.ts'
import { doubts, type TopicState, unsafeConfigs } from './topic-safety.ts'
import type { DeclaredTopic, Topology } from './topology.ts'

/** A topic on the cluster. */
export interface ActualTopic {
  readonly partitions: number
  readonly replication: number
  readonly configs: ReadonlyMap<string, ConfigEntry>
}

/** The topics of a topology and their sources on the cluster, by name. Other topics are ignored. */
export type ActualTopology = ReadonlyMap<string, ActualTopic>

/** One difference. */
export type PlanStep =
  /** The topic does not exist. */
  | { readonly kind: 'CREATE'; readonly topic: string; readonly declared: DeclaredTopic }
  /** A setting differs from the declaration. */
  | {
      readonly kind: 'CONFIG_CHANGE'
      readonly topic: string
      readonly config: string
      /** null when the cluster does not know this setting. */
      readonly from: string | null
      readonly to: string
    }
  /** A setting endangers records. `isMended` when a CONFIG_CHANGE of the same plan fixes it. */
  | {
      readonly kind: 'CONFIG_UNSAFE'
      readonly topic: string
      readonly config: string
      readonly value: string
      readonly problem: string
      readonly isMended: boolean
    }
  /** The partition count differs, which is never changed in place. */
  | {
      readonly kind: 'DIFFERENT_PARTITIONS'
      readonly topic: string
      readonly declared: number
      readonly actual: number
      readonly problem: string
    }
  /** The replication factor differs. Moving replicas is left to Kafka's own tools. */
  | {
      readonly kind: 'REPLICATION_DIFFERS'
      readonly topic: string
      readonly declared: number
      readonly actual: number
    }

/** A legal setting that is probably a mistake. */
export interface PlanWarning {
  readonly topic: string
  readonly problem: string
}

/** All differences, in the order of the declaration; no steps when there are none. */
export interface TopologyPlan {
  readonly steps: readonly PlanStep[]
  readonly warnings: readonly PlanWarning[]
}

/** Compares a declaration with a cluster. Anything on the cluster beyond the declaration is left alone. */
export function planTopology(desired: Topology, actual: ActualTopology): TopologyPlan {
  const declaredByName = new Map(desired.topics.map((topic) => [topic.name, topic]))
  const steps: PlanStep[] = []
  const warnings: PlanWarning[] = []
  for (const declared of desired.topics) {
    const topic = declared.name
    const live = actual.get(topic)
    const after = stateAfter(declared, declaredByName, actual)
    steps.push(...(live === undefined ? [{ kind: 'CREATE', topic, declared } as const] : differences(declared, live)))
    const before = live === undefined ? undefined : stateBefore(declared, live, actual)
    steps.push(...dangers(after, before, desired))
    const problems = [...doubts(after, desired), ...(live === undefined ? [] : undeclaredOverrides(declared, live))]
    warnings.push(...problems.map((problem) => ({ topic, problem })))
  }
  return { steps, warnings }
}

function differences(declared: DeclaredTopic, live: ActualTopic): PlanStep[] {
  const topic = declared.name
  const steps: PlanStep[] = []
  if (declared.partitions !== live.partitions)
    steps.push({
      kind: 'DIFFERENT_PARTITIONS',
      topic,
      declared: declared.partitions,
      actual: live.partitions,
      problem: whyNotInPlace(declared.partitions, live.partitions),
    })
  if (declared.replication !== live.replication)
    steps.push({ kind: 'REPLICATION_DIFFERS', topic, declared: declared.replication, actual: live.replication })
  for (const [config, to] of declared.configs) {
    const from = live.configs.get(config)?.value ?? null
    if (from === null || !isSameSetting(from, to)) steps.push({ kind: 'CONFIG_CHANGE', topic, config, from, to })
  }
  return steps
}

function dangers(after: TopicState, before: TopicState | undefined, desired: Topology): PlanStep[] {
  const lasting = unsafeConfigs(after, desired)
  const fixed =
    before === undefined
      ? []
      : unsafeConfigs(before, desired).filter(({ config }) => !lasting.some((danger) => danger.config === config))
  const step = (isMended: boolean) => (danger: (typeof lasting)[number]) =>
    ({ kind: 'CONFIG_UNSAFE', topic: after.name, ...danger, isMended }) as const
  return [...lasting.map(step(false)), ...fixed.map(step(true))]
}

/**
 * Explains why the count is not changed in place. Doubling it moves half of the keys, away from their earlier records.
 */
function whyNotInPlace(declared: number, actual: number): string {
  const buckets = Array.from({ length: BUCKET_COUNT }, (_, bucket) => bucket)
  const moved = buckets.filter(
    (bucket) => partitionOfBucket(bucket, declared) !== partitionOfBucket(bucket, actual),
  ).length
  return (
    `counts are never changed in place: the keys of ${moved} of ${BUCKET_COUNT} buckets would change their partition ` +
    'and lose their order; declare the count it has, or migrate to a new topic'
  )
}

/** Returns the topic as it will be after every change. */
function stateAfter(
  declared: DeclaredTopic,
  declaredByName: ReadonlyMap<string, DeclaredTopic>,
  actual: ActualTopology,
): TopicState {
  const live = actual.get(declared.name)
  const configs = new Map([...(live === undefined ? [] : liveConfigs(live)), ...declared.configs])
  const declaredSource = declared.source === undefined ? undefined : declaredByName.get(declared.source)
  return {
    ...declared,
    // These do not change in place.
    partitions: live?.partitions ?? declared.partitions,
    replication: live?.replication ?? declared.replication,
    configs,
    source:
      declaredSource === undefined
        ? liveSource(declared, actual)
        : stateAfter({ ...declaredSource, source: undefined }, declaredByName, actual),
  }
}

/** Returns the topic as it is. */
function stateBefore(declared: DeclaredTopic, live: ActualTopic, actual: ActualTopology): TopicState {
  return { ...declared, ...live, configs: liveConfigs(live), source: liveSource(declared, actual) }
}

function liveSource({ source }: DeclaredTopic, actual: ActualTopology): TopicState | undefined {
  const live = source === undefined ? undefined : actual.get(source)
  if (source === undefined || live === undefined) return undefined
  return { name: source, role: 'SOURCE', delayMs: 0, ...live, configs: liveConfigs(live), source: undefined }
}

function liveConfigs({ configs }: ActualTopic): Map<string, string> {
  return new Map([...configs].flatMap(([name, { value }]) => (value === null ? [] : [[name, value]])))
}

function undeclaredOverrides({ configs }: DeclaredTopic, live: ActualTopic): string[] {
  return [...live.configs].flatMap(([name, { value, isDefault }]) =>
    isDefault || configs.has(name) ? [] : [`${name}=${value} is set on the cluster and not declared`],
  )
}

/** Compares settings. The order of list items and the format of numbers do not matter. */
function isSameSetting(one: string, other: string): boolean {
  if (one === other) return true
  const numbers = [one, other].map((text) => (text.trim() === '' ? Number.NaN : Number(text)))
  if (numbers.every((value) => Number.isFinite(value) && Math.abs(value) <= Number.MAX_SAFE_INTEGER))
    return numbers[0] === numbers[1]
  const [words, others] = [one, other].map((text) =>
    text
      .toLowerCase()
      .split(',')
      .map((word) => word.trim())
      .toSorted(),
  )
  return words?.join() === others?.join()
}
