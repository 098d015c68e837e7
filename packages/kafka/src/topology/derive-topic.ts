/**
 * What a binding needs beside its source: tiers, a dead letter topic, a waiting topic. Their names and shapes follow from
 * the source, so that they are decided in one place.
 */

import type { DeclaredTopic, TopicDeclaration, TopicRole } from './topology.ts'

/** Beyond this, derived topics of many bindings would be thousands of partitions, for records that are few. */
const mostDerivedPartitions = 8
/** A record that moves on gains headers: where it came from, what went wrong. */
const headroomBytes = 65_536
/** Kafka's own default for max.message.bytes. */
const usualMaxBytes = 1_048_588

/** What decides whether a record that was written survives: a retry must not be worth less than what it retries. */
const asDurableAsTheSource = ['min.insync.replicas', 'unclean.leader.election.enable']

/** Where a derived topic comes from, as far as is known. */
export type SourceTopic = Pick<TopicDeclaration, 'name' | 'replication' | 'configs'> & { readonly partitions: number }

/** Whose failures end up in the topic. */
export interface DeriveOptions {
  /** Left out: the name of the specification, which all groups of the topic share. With it: one for the group alone. */
  readonly groupId?: string
}

/** The topic of tier `tier`, counted from 1: `orders.retry-1`. */
export function deriveTier(
  source: SourceTopic,
  tier: number,
  delayMs: number,
  options: DeriveOptions = {},
): TopicDeclaration {
  return { ...derive(source, 'TIER', nameOf(source, options, `retry-${tier}`)), delayMs }
}

/** The dead letter topic: `orders.DLT`. */
export function deriveDeadLetterTopic(source: SourceTopic, options: DeriveOptions = {}): TopicDeclaration {
  return derive(source, 'DLT', nameOf(source, options, 'DLT'))
}

/** The waiting topic of one group: `orders.billing.waiting`. */
export function deriveWaiting(source: SourceTopic, groupId: string): TopicDeclaration {
  return derive(source, 'WAITING', nameOf(source, { groupId }, 'waiting'))
}

/** How many partitions a topic of this role has when nobody says. */
export function derivedPartitions(role: TopicRole, sourcePartitions: number): number {
  return role === 'WAITING' ? sourcePartitions : Math.min(sourcePartitions, mostDerivedPartitions)
}

/** What holds for a topic of this role when nobody says otherwise. */
export function derivedConfigs(
  role: TopicRole,
  source: Pick<DeclaredTopic, 'configs'> | undefined,
): Map<string, string> {
  if (role === 'SOURCE') return new Map()
  const kept = new Map([
    ['cleanup.policy', 'delete'],
    ['retention.ms', '-1'],
  ])
  if (source === undefined) return kept
  for (const name of asDurableAsTheSource) {
    const value = source.configs.get(name)
    if (value !== undefined) kept.set(name, value)
  }
  const sourceMaxBytes = Number(source.configs.get('max.message.bytes') ?? usualMaxBytes)
  return kept.set('max.message.bytes', String(sourceMaxBytes + headroomBytes))
}

function derive(source: SourceTopic, role: TopicRole, name: string): TopicDeclaration {
  const sourceConfigs = new Map(Object.entries(source.configs ?? {}).map(([key, value]) => [key, String(value)]))
  return {
    name,
    role,
    source: source.name,
    partitions: derivedPartitions(role, source.partitions),
    ...(source.replication === undefined ? {} : { replication: source.replication }),
    configs: Object.fromEntries(derivedConfigs(role, { configs: sourceConfigs })),
  }
}

function nameOf(source: SourceTopic, { groupId }: DeriveOptions, suffix: string): string {
  return [source.name, ...(groupId === undefined ? [] : [groupId]), suffix].join('.')
}
