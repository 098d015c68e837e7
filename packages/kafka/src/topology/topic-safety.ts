/**
 * Safety rules for topics, however they were configured. Each one prevents records from being lost silently, or from being
 * blocked forever.
 */

import type { DeclaredTopic, Topology } from './topology.ts'

/** A topic as it is, or as it would be after the declared changes. */
export interface TopicState extends Pick<DeclaredTopic, 'name' | 'role' | 'partitions' | 'replication' | 'delayMs'> {
  /** Known settings; an absent one has the broker's default. */
  readonly configs: ReadonlyMap<string, string>
  /** Its source topic; undefined when it is neither declared nor on the cluster. */
  readonly source: TopicState | undefined
}

/** An unsafe setting. */
export interface UnsafeConfig {
  /** Kafka's name of the setting, or `partitions`, or `source`. */
  readonly config: string
  readonly value: string
  readonly problem: string
}

type Bounds = Pick<Topology, 'longestPauseMs' | 'environment'>

/** Returns every setting of the topic that endangers records. */
export function unsafeConfigs(topic: TopicState, { longestPauseMs }: Bounds): UnsafeConfig[] {
  const found: UnsafeConfig[] = []
  if (topic.role === 'TIER' || topic.role === 'DLT') found.push(...forgets(topic, 2 * (topic.delayMs + longestPauseMs)))
  if (topic.role === 'WAITING') found.push(...notBesideItsSource(topic))
  if (topic.role !== 'SOURCE') found.push(...compacts(topic))
  return found
}

/** Returns settings that are legal but probably a mistake. */
export function doubts(topic: TopicState, { environment }: Bounds): string[] {
  const { replication, configs } = topic
  const minInSync = configs.get('min.insync.replicas')
  const found: string[] = []
  if (replication === 1 && environment !== 'DEV')
    found.push('replication 1: losing one broker loses its records; use 3, or environment: DEV')
  if (Number(minInSync) > replication && environment !== 'DEV')
    found.push(`min.insync.replicas ${minInSync}: there are ${replication} replicas, and Kafka waits for no more`)
  if (replication >= 3 && minInSync === '1')
    found.push('min.insync.replicas 1: a record counts as written with one copy, which may be lost; use 2')
  if (replication >= 3 && minInSync === undefined)
    found.push('min.insync.replicas is not declared, and 1 in Kafka unless the broker says otherwise; use 2')
  if (configs.get('unclean.leader.election.enable') === 'true')
    found.push('unclean.leader.election.enable: a replica that missed records may become leader, and they are lost')
  if (topic.role === 'TIER' || topic.role === 'DLT') found.push(...cramped(topic))
  return found
}

function* forgets({ configs }: TopicState, leastMs: number): Generator<UnsafeConfig> {
  const value = configs.get('retention.ms')
  if (value === undefined || value === '-1' || Number(value) >= leastMs) return
  const problem = `records would be deleted before they are handled; use -1, or at least ${leastMs}: 2 x (delay + longest pause)`
  yield { config: 'retention.ms', value, problem }
}

function* compacts({ role, configs }: TopicState): Generator<UnsafeConfig> {
  const value = configs.get('cleanup.policy')
  if (value === undefined || !value.includes('compact')) return
  const problem = `compaction keeps only the last record of a key, and a ${role} holds many; use delete`
  yield { config: 'cleanup.policy', value, problem }
}

function* notBesideItsSource({ partitions, configs, source }: TopicState): Generator<UnsafeConfig> {
  for (const config of ['retention.ms', 'retention.bytes']) {
    const value = configs.get(config)
    if (value !== undefined && value !== '-1')
      yield { config, value, problem: 'waiting records would be deleted; use -1' }
  }
  if (source === undefined) {
    yield { config: 'source', value: '', problem: 'its source is neither declared nor on the cluster' }
    return
  }
  if (partitions !== source.partitions) {
    const problem = `partition p must match partition p of ${source.name}, which has ${source.partitions}`
    yield { config: 'partitions', value: String(partitions), problem }
  }
  if (holdsLess(configs, source.configs)) {
    const value = configs.get('max.message.bytes') ?? ''
    const problem = `${source.name} accepts ${source.configs.get('max.message.bytes')}: its largest records could not be parked here`
    yield { config: 'max.message.bytes', value, problem }
  }
}

function* cramped({ configs, source }: TopicState): Generator<string> {
  const bytes = configs.get('retention.bytes')
  if (bytes !== undefined && bytes !== '-1')
    yield `retention.bytes ${bytes}: the oldest records are deleted when it is full, whatever their age`
  if (source !== undefined && holdsLess(configs, source.configs))
    yield `max.message.bytes is smaller than that of ${source.name}: its largest records could not be moved here`
}

function holdsLess(configs: ReadonlyMap<string, string>, source: ReadonlyMap<string, string>): boolean {
  const [own, needed] = [configs.get('max.message.bytes'), source.get('max.message.bytes')]
  return own !== undefined && needed !== undefined && Number(own) < Number(needed)
}
