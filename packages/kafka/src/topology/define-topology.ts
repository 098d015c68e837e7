/** Validates a declaration, reports every violation, and applies the defaults. */

import {
  durationMs,
  instance,
  integer,
  list,
  mapOf,
  nested,
  oneOf,
  optional,
  type Report,
  type Resolved,
  resolveOptions,
  text,
} from '@waybill/core/option'
import { configTexts, derivedConfigs, derivedPartitions } from './derive-topic.ts'
import { topicName } from './topic-name.ts'
import type { DeclaredTopic, Topology, TopologyDeclaration } from './topology.ts'

const setting = instance<string | number | boolean>(
  'a string, a whole number or a boolean',
  // A parser would have rounded a larger number.
  (value) => typeof value === 'string' || typeof value === 'boolean' || isExact(value),
)

const topicRules = {
  name: text(topicName),
  role: oneOf(['SOURCE', 'TIER', 'WAITING', 'DLT'], {
    default: 'SOURCE',
    because: 'Topics of producers are declared by hand, the others are mostly derived.',
  }),
  partitions: optional(integer({ min: 1, max: 10_000 })),
  replication: optional(integer({ min: 1, max: 32 })),
  configs: mapOf(setting, { default: {}, because: 'Undeclared settings are left to the cluster.' }),
  source: optional(text(topicName)),
  delayMs: optional(durationMs()),
}

const topologyRules = {
  topics: list(nested(topicRules), { min: 1 }),
  environment: oneOf(['PRODUCTION', 'DEV'], {
    default: 'PRODUCTION',
    because: 'Omitting it must cost a warning, not a record.',
  }),
  longestPauseMs: durationMs({ default: 259_200_000, because: 'A fault on Friday evening is fixed on Monday.' }),
}

type TopicOptions = Resolved<typeof topicRules>

/**
 * Declares a topology, in TypeScript.
 *
 * @throws OptionsError with every violation and its path.
 */
export function defineTopology(declaration: TopologyDeclaration): Topology {
  return parseTopology(declaration)
}

/**
 * Reads a topology from a parsed YAML or JSON file.
 *
 * @throws OptionsError with every violation and its path.
 */
export function parseTopology(value: unknown): Topology {
  const options = resolveOptions('topology', topologyRules, value, ({ topics }, report) => {
    checkNames(topics, report)
    const byName = new Map(topics.map((topic) => [topic.name, topic]))
    for (const [at, topic] of topics.entries())
      checkRole(topic, byName, (key, problem) => report(`topics[${at}].${key}`, problem))
  })
  const replication = options.environment === 'DEV' ? 1 : 3
  const byName = new Map(options.topics.map((topic) => [topic.name, topic]))
  const topics = options.topics.map((topic) => decide(topic, sourceOf(topic, byName), replication))
  return Object.freeze({ ...options, topics: Object.freeze(topics) })
}

function isExact(value: unknown): boolean {
  return Number.isSafeInteger(value) || (Number.isFinite(value) && !Number.isInteger(value))
}

function checkNames(topics: readonly TopicOptions[], report: Report): void {
  const firstByMetricName = new Map<string, string>()
  for (const [at, { name }] of topics.entries()) {
    // Kafka replaces dots with underscores in metric names, and refuses a second topic with the same metric name.
    const metricName = name.replaceAll('.', '_')
    const first = firstByMetricName.get(metricName)
    if (first === undefined) firstByMetricName.set(metricName, name)
    else if (first === name) report(`topics[${at}].name`, `is already declared: ${name}`)
    else report(`topics[${at}].name`, `differs from ${first} only in dots and underscores, which Kafka refuses`)
  }
}

function checkRole(
  { name, role, partitions, source, delayMs }: TopicOptions,
  byName: ReadonlyMap<string, TopicOptions>,
  report: Report,
): void {
  if (role === 'TIER' && delayMs === undefined) report('delayMs', 'is required for a TIER: the wait of its records')
  if (role !== 'TIER' && delayMs !== undefined) report('delayMs', `is only for a TIER, and this is a ${role}`)
  if (role === 'WAITING' && source === undefined) report('source', 'is required for a WAITING topic')
  if (role === 'SOURCE' && source !== undefined)
    report('source', 'is only for a TIER, WAITING or DLT, and this is a SOURCE')
  if (source === name) report('source', 'is the topic itself')
  const declaredSource = sourceOf({ source }, byName)
  if (declaredSource !== undefined && declaredSource.role !== 'SOURCE')
    report('source', `names ${source}, which is a ${declaredSource.role}`)
  if (partitions === undefined && declaredSource === undefined)
    report('partitions', role === 'SOURCE' ? 'is required' : 'is required where the source is not declared')
}

function sourceOf(
  { source }: Pick<TopicOptions, 'source'>,
  byName: ReadonlyMap<string, TopicOptions>,
): TopicOptions | undefined {
  return source === undefined ? undefined : byName.get(source)
}

function decide(topic: TopicOptions, source: TopicOptions | undefined, usualReplication: number): DeclaredTopic {
  const { name, role, delayMs = 0 } = topic
  const defaults = derivedConfigs(role, source && configTexts(source.configs))
  return Object.freeze({
    name,
    role,
    partitions: topic.partitions ?? derivedPartitions(role, source?.partitions ?? 1),
    replication: topic.replication ?? source?.replication ?? usualReplication,
    configs: new Map([...defaults, ...configTexts(topic.configs)]),
    source: topic.source,
    delayMs,
  })
}
