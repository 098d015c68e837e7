/**
 * Topics as code: what a service expects of its cluster, in a file that is reviewed, compared with the cluster and
 * applied. The same declaration may be written in TypeScript or come from YAML or JSON.
 */

/**
 * - SOURCE: what producers write and a binding reads.
 * - TIER: where a failed record waits for its next attempt.
 * - WAITING: where records wait behind an earlier one of their key; co-partitioned with its source.
 * - DLT: where dead letters lie.
 */
export type TopicRole = 'SOURCE' | 'TIER' | 'WAITING' | 'DLT'

/** Where the cluster serves. In DEV one copy of everything is enough. */
export type TopologyEnvironment = 'PRODUCTION' | 'DEV'

/** A topic as a topology declares it. */
export interface TopicDeclaration {
  readonly name: string
  /** @defaultValue 'SOURCE' */
  readonly role?: TopicRole
  /**
   * Never changed once the topic exists. Required for a SOURCE; a WAITING topic has those of its source, tiers and dead
   * letter topics at most 8.
   */
  readonly partitions?: number
  /** Copies of each partition. @defaultValue that of its source, else 3 (1 in DEV) */
  readonly replication?: number
  /**
   * Settings by their Kafka names.
   * @defaultValue none for a SOURCE; else kept for ever, never compacted, and with room for the headers that are added
   */
  readonly configs?: Readonly<Record<string, string | number | boolean>>
  /** The topic whose records come here, declared or on the cluster. Required for a WAITING topic. */
  readonly source?: string
  /** How long a record stays in a TIER. Required there. */
  readonly delayMs?: number
}

/** A topology as its author writes it. */
export interface TopologyDeclaration {
  readonly topics: readonly TopicDeclaration[]
  /** @defaultValue 'PRODUCTION' */
  readonly environment?: TopologyEnvironment
  /**
   * The longest time that handling may stand still: a breaker, an operator's pause, a weekend. Retry and dead letter
   * topics must keep their records at least twice as long.
   * @defaultValue 259,200,000 (three days)
   */
  readonly longestPauseMs?: number
}

/** A topic with everything decided. */
export interface DeclaredTopic {
  readonly name: string
  readonly role: TopicRole
  readonly partitions: number
  readonly replication: number
  /** By name, as Kafka writes them. */
  readonly configs: ReadonlyMap<string, string>
  readonly source: string | undefined
  /** 0 outside of tiers. */
  readonly delayMs: number
}

/** A topology with everything decided. */
export interface Topology {
  readonly topics: readonly DeclaredTopic[]
  readonly environment: TopologyEnvironment
  readonly longestPauseMs: number
}
