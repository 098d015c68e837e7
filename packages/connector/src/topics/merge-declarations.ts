import type { TopicDeclaration } from '@waybill/kafka'

/**
 * One declaration for each name. A dead letter topic that several bindings share takes the records of each, so it has as
 * much of everything as the most demanding of them asks for.
 */
export function mergeDeclarations(topics: readonly TopicDeclaration[]): readonly TopicDeclaration[] {
  const byName = new Map<string, TopicDeclaration>()
  for (const topic of topics) {
    const first = byName.get(topic.name)
    byName.set(topic.name, first === undefined ? topic : merge(first, topic))
  }
  return [...byName.values()]
}

function merge(one: TopicDeclaration, other: TopicDeclaration): TopicDeclaration {
  const { source, ...shared } = one
  return {
    ...shared,
    ...(source === undefined || source !== other.source ? {} : { source }),
    partitions: larger(one.partitions, other.partitions),
    replication: larger(one.replication, other.replication),
    configs: mergeConfigs(one.configs ?? {}, other.configs ?? {}),
  }
}

type Configs = NonNullable<TopicDeclaration['configs']>

/** Settings that only one of them has stay: both would rather have it than lose a record. */
function mergeConfigs(one: Configs, other: Configs): Configs {
  const merged: Record<string, string | number | boolean> = { ...other, ...one }
  for (const name of ['max.message.bytes', 'min.insync.replicas']) {
    const values = [one[name], other[name]].flatMap((value) => (value === undefined ? [] : [Number(value)]))
    if (values.length > 0) merged[name] = String(Math.max(...values))
  }
  return merged
}

function larger(one: number | undefined, other: number | undefined): number {
  return Math.max(one ?? 1, other ?? 1)
}
