import { partitionFor } from '@waybill/core'
import type { ClientFacts } from '../client/cluster/client-facts.ts'
import type { KafkaErrorScope } from '../client/cluster/kafka-error.ts'

/** The destinations of one topic, created once, since they are looked up for every waiting event. */
interface TopicDestinations {
  readonly whole: readonly string[]
  /** Of records without a key, which may go to any partition. */
  readonly any: readonly string[]
  readonly byPartition: (readonly string[])[]
}

/**
 * Names the destinations of events, from the widest to the narrowest: `kafka://host:9092`, `kafka://host:9092/orders`
 * and `kafka://host:9092/orders/3`. A transactional id stands behind all of them, since it fails on its own.
 */
export class KafkaDestinations {
  readonly #facts: ClientFacts
  readonly #suffix: string
  readonly #cluster: readonly string[]
  readonly #byTopic: Map<string, TopicDestinations> = new Map()

  constructor(facts: ClientFacts, transactionalId: string | undefined) {
    this.#facts = facts
    this.#suffix = transactionalId === undefined ? '' : `?transactionalId=${transactionalId}`
    this.#cluster = [`${facts.clusterName}${this.#suffix}`]
  }

  /**
   * Returns the destinations of a record with this key, without its partition while the partition count is unknown.
   * Without a topic it is the cluster alone.
   */
  of(topic: string | undefined, key: string | null): readonly string[] {
    if (topic === undefined) return this.#cluster
    const destinations = this.#ofTopic(topic)
    const partitionCount = this.#facts.partitionCount(topic)
    if (partitionCount === undefined) return destinations.whole
    if (key === null) return destinations.any
    const partition = partitionFor(key, partitionCount)
    return (destinations.byPartition[partition] ??= [...destinations.whole, this.#name(topic, partition)])
  }

  #ofTopic(topic: string): TopicDestinations {
    const known = this.#byTopic.get(topic)
    if (known !== undefined) return known
    const whole = [...this.#cluster, this.#name(topic)]
    const created = { whole, any: [...whole, this.#name(topic, '*')], byPartition: [] }
    this.#byTopic.set(topic, created)
    return created
  }

  #name(...path: readonly (string | number)[]): string {
    return `${[this.#facts.clusterName, ...path].join('/')}${this.#suffix}`
  }
}

const levels: Readonly<Record<Exclude<KafkaErrorScope, 'RECORD'>, number>> = { CLUSTER: 0, TOPIC: 1, PARTITION: 2 }

/** Returns the destination at fault, or the narrowest that is known. */
export function destinationAt(destinations: readonly string[], fault: Exclude<KafkaErrorScope, 'RECORD'>): string {
  return destinations[Math.min(levels[fault], destinations.length - 1)] as string
}
