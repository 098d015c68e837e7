import type { TopicDeclaration } from '@waybill/kafka'

/**
 * Merges declarations with the same name. A dead letter topic shared by several bindings gets the largest value of each
 * setting.
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

/** Keeps settings that only one declaration has, since they protect the records of both. */
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
