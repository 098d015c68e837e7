/**
 * Topics as code: the topics that a service expects of its cluster, in a file that is reviewed, compared with the
 * cluster and applied. A declaration is written in TypeScript, YAML or JSON.
 */

/**
 * The role of a topic:
 * - SOURCE: producers write it and a binding reads it.
 * - TIER: failed records wait there for their next attempt.
 * - WAITING: records wait there behind an earlier one of their key; co-partitioned with its source.
 * - DLT: dead letters are stored there.
 */
export type TopicRole = 'SOURCE' | 'TIER' | 'WAITING' | 'DLT'

/** The environment of a cluster. In DEV one replica is enough. */
export type TopologyEnvironment = 'PRODUCTION' | 'DEV'

/** A topic as a topology declares it. */
export interface TopicDeclaration {
  readonly name: string
  /** @defaultValue 'SOURCE' */
  readonly role?: TopicRole
  /**
   * Partition count, never changed once the topic exists. Required for a SOURCE. A WAITING topic has the count of its
   * source; tiers and dead letter topics have at most 8.
   */
  readonly partitions?: number
  /** Replication factor. @defaultValue that of its source, else 3 (1 in DEV) */
  readonly replication?: number
  /**
   * Settings by their Kafka names.
   * @defaultValue none for a SOURCE; otherwise unlimited retention, no compaction, and room for added headers
   */
  readonly configs?: Readonly<Record<string, string | number | boolean>>
  /** The topic whose records are moved here, declared or on the cluster. Required for a WAITING topic. */
  readonly source?: string
  /** Wait of a record in a TIER. Required there. */
  readonly delayMs?: number
}

/** A topology, as written by its author. */
export interface TopologyDeclaration {
  readonly topics: readonly TopicDeclaration[]
  /** @defaultValue 'PRODUCTION' */
  readonly environment?: TopologyEnvironment
  /**
   * Longest time that processing may be blocked: a circuit breaker, an operator's pause, a weekend. Retry and dead
   * letter topics must retain records at least twice as long.
   * @defaultValue 259,200,000 (three days)
   */
  readonly longestPauseMs?: number
}

/** A declared topic with all defaults applied. */
export interface DeclaredTopic {
  readonly name: string
  readonly role: TopicRole
  readonly partitions: number
  readonly replication: number
  /** Settings by name, as Kafka represents them. */
  readonly configs: ReadonlyMap<string, string>
  readonly source: string | undefined
  /** Wait of a record in a TIER; otherwise 0. */
  readonly delayMs: number
}

/** A topology with all defaults applied. */
export interface Topology {
  readonly topics: readonly DeclaredTopic[]
  readonly environment: TopologyEnvironment
  readonly longestPauseMs: number
}
