/**
 * What must not be true of a topic, whoever set it. Each rule stands for records that would be gone, or could never move
 * on, without anybody having been told.
 */

import type { DeclaredTopic, Topology } from './topology.ts'

/** A topic as it is, or as it would be: what is declared over what the cluster has. */
export interface TopicState extends Pick<DeclaredTopic, 'name' | 'role' | 'partitions' | 'replication' | 'delayMs'> {
  /** What is known to hold; a setting that is absent is whatever the broker says. */
  readonly configs: ReadonlyMap<string, string>
  /** undefined when it is neither declared nor there. */
  readonly source: TopicState | undefined
}

/** A setting that must not be. */
export interface UnsafeConfig {
  /** Kafka's name of the setting, or `partitions`, or `source`. */
  readonly config: string
  readonly value: string
  readonly problem: string
}

type Bounds = Pick<Topology, 'longestPauseMs' | 'environment'>

/** Everything about the topic that endangers records. */
export function unsafeConfigs(topic: TopicState, { longestPauseMs }: Bounds): UnsafeConfig[] {
  const found: UnsafeConfig[] = []
  if (topic.role === 'TIER' || topic.role === 'DLT') found.push(...forgets(topic, 2 * (topic.delayMs + longestPauseMs)))
  if (topic.role === 'WAITING') found.push(...notBesideItsSource(topic))
  if (topic.role !== 'SOURCE') found.push(...compacts(topic))
  return found
}

/** What is legal, and most likely not meant. */
export function doubts(topic: TopicState, { environment }: Bounds): string[] {
  const { replication, configs } = topic
  const minInSync = configs.get('min.insync.replicas')
  const found: string[] = []
  if (replication === 1 && environment !== 'DEV')
    found.push('replication 1: the loss of one broker is the loss of its records; use 3, or environment: DEV')
  if (Number(minInSync) > replication && environment !== 'DEV')
    found.push(`min.insync.replicas ${minInSync}: there are ${replication}, and no more are waited for`)
  if (replication >= 3 && minInSync === '1')
    found.push('min.insync.replicas 1: a record counts as written with one copy, which may be lost; use 2')
  if (replication >= 3 && minInSync === undefined)
    found.push('min.insync.replicas is not declared, and 1 in Kafka unless the broker says otherwise; use 2')
  if (configs.get('unclean.leader.election.enable') === 'true')
    found.push('unclean.leader.election.enable: a replica that missed records may become leader, and they are gone')
  if (topic.role === 'TIER' || topic.role === 'DLT') found.push(...cramped(topic))
  return found
}

function* forgets({ configs }: TopicState, leastMs: number): Generator<UnsafeConfig> {
  const value = configs.get('retention.ms')
  if (value === undefined || value === '-1' || Number(value) >= leastMs) return
  const problem = `records would be deleted before they are handled; needed is -1, or ${leastMs}: 2 x (delay + longest pause)`
  yield { config: 'retention.ms', value, problem }
}

function* compacts({ role, configs }: TopicState): Generator<UnsafeConfig> {
  const value = configs.get('cleanup.policy')
  if (value === undefined || !value.includes('compact')) return
  const problem = `of two records of a key only the last would be kept, and a ${role} holds many; needed is delete`
  yield { config: 'cleanup.policy', value, problem }
}

function* notBesideItsSource({ partitions, configs, source }: TopicState): Generator<UnsafeConfig> {
  for (const config of ['retention.ms', 'retention.bytes']) {
    const value = configs.get(config)
    if (value !== undefined && value !== '-1')
      yield { config, value, problem: 'records that wait for their turn would be deleted; needed is -1' }
  }
  if (source === undefined) {
    yield { config: 'source', value: '', problem: 'its source is neither declared nor on the cluster' }
    return
  }
  if (partitions !== source.partitions) {
    const problem = `partition p holds what waits in partition p of ${source.name}, which has ${source.partitions}`
    yield { config: 'partitions', value: String(partitions), problem }
  }
  if (holdsLess(configs, source.configs)) {
    const value = configs.get('max.message.bytes') ?? ''
    const problem = `${source.name} takes ${source.configs.get('max.message.bytes')}: its largest records could not wait`
    yield { config: 'max.message.bytes', value, problem }
  }
}

function* cramped({ configs, source }: TopicState): Generator<string> {
  const bytes = configs.get('retention.bytes')
  if (bytes !== undefined && bytes !== '-1')
    yield `retention.bytes ${bytes}: the oldest records are deleted when it is full, however young they are`
  if (source !== undefined && holdsLess(configs, source.configs))
    yield `max.message.bytes is smaller than that of ${source.name}: its largest records could not be moved here`
}

function holdsLess(configs: ReadonlyMap<string, string>, source: ReadonlyMap<string, string>): boolean {
  const [own, needed] = [configs.get('max.message.bytes'), source.get('max.message.bytes')]
  return own !== undefined && needed !== undefined && Number(own) < Number(needed)
}
