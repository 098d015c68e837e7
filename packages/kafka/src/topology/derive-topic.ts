/**
 * The topics that a binding needs beside its source: tiers, a dead letter topic, a waiting topic. Their names and
 * shapes follow from the source and are defined here alone.
 */

import type { DeclaredTopic, TopicDeclaration, TopicRole } from './topology.ts'

/** Most partitions of a derived topic: with more, many bindings would have thousands of partitions for few records. */
const mostDerivedPartitions = 8
/** Room for the headers that a moved record gains: its origin and its error. */
const headroomBytes = 65_536
/** Kafka's own default for max.message.bytes. */
const usualMaxBytes = 1_048_588

/** Settings that decide whether a written record survives: a retry must be as durable as its source. */
const asDurableAsTheSource = ['min.insync.replicas', 'unclean.leader.election.enable']

/** The known properties of a source topic. */
export type SourceTopic = Pick<TopicDeclaration, 'name' | 'replication' | 'configs'> & { readonly partitions: number }

/** Options of a derived topic. */
export interface DeriveOptions {
  /**
   * Makes the topic private to this group. If omitted, it has the specified name, which all groups of the source share.
   */
  readonly groupId?: string
  /** Last part of the name. @defaultValue `retry-{tier}`, `DLT` */
  readonly topicSuffix?: string
  /** Full name, instead of one built from the parts. */
  readonly name?: string
  /** @defaultValue the partition count of the source, at most 8 */
  readonly partitions?: number | undefined
}

/** Declares the topic of tier `tier`, counted from 1: `orders.retry-1`. */
export function deriveTier(
  source: SourceTopic,
  tier: number,
  delayMs: number,
  options: DeriveOptions = {},
): TopicDeclaration {
  return { ...derive(source, 'TIER', nameOf(source, options, tierSuffix(tier)), options.partitions), delayMs }
}

/** Declares the dead letter topic: `orders.DLT`. */
export function deriveDeadLetterTopic(source: SourceTopic, options: DeriveOptions = {}): TopicDeclaration {
  return derive(source, 'DLT', nameOf(source, options, deadLetterSuffix), options.partitions)
}

/** Declares the waiting topic of one group: `orders.billing.waiting`. */
export function deriveWaiting(source: SourceTopic, groupId: string): TopicDeclaration {
  return derive(source, 'WAITING', waitingTopicName(source.name, groupId))
}

/** Returns the default suffix of a tier topic. */
export function tierSuffix(tier: number): string {
  return `retry-${tier}`
}

/** The default suffix of a dead letter topic. */
export const deadLetterSuffix = 'DLT'

/** Returns `{topic}.{suffix}`, or `{topic}.{groupId}.{suffix}`. */
export function derivedTopicName(topic: string, suffix: string, groupId?: string): string {
  return [topic, ...(groupId === undefined ? [] : [groupId]), suffix].join('.')
}

/** Returns the name of a group's waiting topic. It is never shared, since its records wait for this group alone. */
export function waitingTopicName(topic: string, groupId: string): string {
  return derivedTopicName(topic, 'waiting', groupId)
}

/** Returns the default partition count of a role. */
export function derivedPartitions(role: TopicRole, sourcePartitions: number): number {
  return role === 'WAITING' ? sourcePartitions : Math.min(sourcePartitions, mostDerivedPartitions)
}

/** Returns the default settings of a role. */
export function derivedConfigs(
  role: TopicRole,
  sourceConfigs: DeclaredTopic['configs'] | undefined,
): Map<string, string> {
  if (role === 'SOURCE') return new Map()
  const kept = new Map([
    ['cleanup.policy', 'delete'],
    ['retention.ms', '-1'],
  ])
  if (sourceConfigs === undefined) return kept
  for (const name of asDurableAsTheSource) {
    const value = sourceConfigs.get(name)
    if (value !== undefined) kept.set(name, value)
  }
  const sourceMaxBytes = Number(sourceConfigs.get('max.message.bytes') ?? usualMaxBytes)
  return kept.set('max.message.bytes', String(sourceMaxBytes + headroomBytes))
}

/** Converts settings to strings, as Kafka represents them. */
export function configTexts(configs: TopicDeclaration['configs'] = {}): Map<string, string> {
  return new Map(Object.entries(configs).map(([name, value]) => [name, String(value)]))
}

function derive(source: SourceTopic, role: TopicRole, name: string, partitions?: number): TopicDeclaration {
  return {
    name,
    role,
    source: source.name,
    partitions: partitions ?? derivedPartitions(role, source.partitions),
    ...(source.replication === undefined ? {} : { replication: source.replication }),
    configs: Object.fromEntries(derivedConfigs(role, configTexts(source.configs))),
  }
}

function nameOf(source: SourceTopic, { name, groupId, topicSuffix }: DeriveOptions, usualSuffix: string): string {
  return name ?? derivedTopicName(source.name, topicSuffix ?? usualSuffix, groupId)
}
