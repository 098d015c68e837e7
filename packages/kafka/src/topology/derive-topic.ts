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

/** What a derived topic is called, and whose failures end up in it. */
export interface DeriveOptions {
  /** Left out: the name of the specification, which all groups of the topic share. With it: one for the group alone. */
  readonly groupId?: string
  /** The last part of the name. @defaultValue `retry-{tier}`, `DLT` */
  readonly topicSuffix?: string
  /** The whole name, in place of one made of the parts. */
  readonly name?: string
  /** @defaultValue those of the source, at most 8 */
  readonly partitions?: number | undefined
}

/** The topic of tier `tier`, counted from 1: `orders.retry-1`. */
export function deriveTier(
  source: SourceTopic,
  tier: number,
  delayMs: number,
  options: DeriveOptions = {},
): TopicDeclaration {
  return { ...derive(source, 'TIER', nameOf(source, options, tierSuffix(tier)), options.partitions), delayMs }
}

/** The dead letter topic: `orders.DLT`. */
export function deriveDeadLetterTopic(source: SourceTopic, options: DeriveOptions = {}): TopicDeclaration {
  return derive(source, 'DLT', nameOf(source, options, deadLetterSuffix), options.partitions)
}

/** The waiting topic of one group: `orders.billing.waiting`. */
export function deriveWaiting(source: SourceTopic, groupId: string): TopicDeclaration {
  return derive(source, 'WAITING', waitingTopicName(source.name, groupId))
}

/** What a tier's topic ends in when nobody says. */
export function tierSuffix(tier: number): string {
  return `retry-${tier}`
}

/** What a dead letter topic ends in when nobody says. */
export const deadLetterSuffix = 'DLT'

/** `{topic}.{suffix}`, or `{topic}.{groupId}.{suffix}`. */
export function derivedTopicName(topic: string, suffix: string, groupId?: string): string {
  return [topic, ...(groupId === undefined ? [] : [groupId]), suffix].join('.')
}

/** The waiting topic of a group: always its own, since what waits there waits for this group alone. */
export function waitingTopicName(topic: string, groupId: string): string {
  return derivedTopicName(topic, 'waiting', groupId)
}

/** How many partitions a topic of this role has when nobody says. */
export function derivedPartitions(role: TopicRole, sourcePartitions: number): number {
  return role === 'WAITING' ? sourcePartitions : Math.min(sourcePartitions, mostDerivedPartitions)
}

/** What holds for a topic of this role when nobody says otherwise. */
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

/** Settings as Kafka writes them. */
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
