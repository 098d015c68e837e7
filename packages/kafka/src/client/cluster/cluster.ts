/**
 * Cached cluster metadata: nodes, topics, leaders, coordinators. Entries may be stale. A caller that gets an error
 * saying so invalidates the entry and retries.
 */

import type { Runtime } from '@waybill/core'
import { errorCode } from '../../wire/api/error-codes.ts'
import type { CoordinatorKind, KafkaApi, MetadataResponse, RequestOf, ResponseOf } from '../../wire/api/kafka-apis.ts'
import type { NodeAddress } from '../../wire/broker/kafka-transport.ts'
import { assertNoError, KafkaError, kafkaError, ofCluster, toKafkaError } from './kafka-error.ts'
import { assertSound } from './metadata-answer.ts'
import { addressOf, type Nodes } from './nodes.ts'

/** The leader of a partition, as of the last metadata response. */
export interface Leader extends NodeAddress {
  readonly nodeId: number
  readonly leaderEpoch: number
}

/** A topic, as of the last metadata response. A topic that was deleted and created again has a different id. */
export interface TopicDescription {
  readonly name: string
  readonly topicId: string
  readonly isInternal: boolean
  /** Leaders by partition number; null while a partition has no leader. */
  readonly leaders: readonly (Leader | null)[]
}

/** The client's view of the cluster. */
export interface Cluster {
  /** Returns the cached description, without a request; undefined if there is none or it was invalidated. */
  known(topic: string): TopicDescription | undefined
  /**
   * Returns the last known number of partitions; undefined before the first description. Survives `invalidateTopic`: a
   * new leader does not change where keys belong.
   */
  partitionCount(topic: string): number | undefined
  /** Returns why the last response did not describe this topic: it does not exist, or access is denied. */
  refusal(topic: string): KafkaError | undefined
  /**
   * Describes topics, with one request for all that are not cached. A topic that does not exist is absent from the
   * result and does not fail the others. Rejects with KafkaError when no node answers within `timeoutMs`.
   */
  topics(names: readonly string[], timeoutMs: number): Promise<ReadonlyMap<string, TopicDescription>>
  /** Requests fresh descriptions, even of cached topics. The cache stays valid meanwhile. Resolves as `topics` does. */
  refresh(names: readonly string[], timeoutMs: number): Promise<ReadonlyMap<string, TopicDescription>>
  /** Describes every topic of the cluster. */
  allTopics(timeoutMs: number): Promise<ReadonlyMap<string, TopicDescription>>
  /** Drops the cached description, because a response showed that it is stale. */
  invalidateTopic(topic: string): void
  /**
   * Returns the node that coordinates a group or a transactional id. Looks it up again after `invalidateCoordinator`.
   */
  coordinator(kind: CoordinatorKind, key: string, timeoutMs: number): Promise<NodeAddress>
  invalidateCoordinator(kind: CoordinatorKind, key: string): void
  /** Returns the current addresses of the brokers. */
  brokers(timeoutMs: number): Promise<readonly NodeAddress[]>
  /**
   * Returns the first response from any node. Only for read-only requests that every node accepts: a node that does not
   * answer in time is skipped, and may still have acted.
   */
  anyNode<A extends KafkaApi>(api: A, request: RequestOf<A>, timeoutMs: number): Promise<ResponseOf<A>>
}

/** Creates a {@link Cluster} that asks the `bootstrap` nodes first, and any discovered node later. */
export function createCluster(
  nodes: Nodes,
  bootstrap: readonly NodeAddress[],
  runtime: Pick<Runtime, 'clock' | 'random'>,
): Cluster {
  const topicByName = new Map<string, TopicDescription>()
  /** Error codes of topics that the last response did not describe. */
  const refusals = new Map<string, number>()
  const partitionCounts = new Map<string, number>()
  const coordinators = new Map<string, NodeAddress>()
  let members: readonly NodeAddress[] = []
  /** Addresses that did not answer their last request. */
  const silent = new Set<string>()

  /**
   * Lists known nodes in a rotated order that spreads load, then the bootstrap addresses in case every known node has
   * moved. Nodes that did not answer come last, so that a dead node costs its timeout once and not on every request.
   */
  const candidates = (): [address: string, node: NodeAddress][] => {
    const start = Math.floor(runtime.random() * Math.max(1, members.length))
    const inTurn = [...members.slice(start), ...members.slice(0, start), ...bootstrap]
    const byAddress = new Map(inTurn.map((node) => [addressOf(node), node]))
    return [...byAddress].toSorted(([one], [other]) => Number(silent.has(one)) - Number(silent.has(other)))
  }

  const anyNode = async <A extends KafkaApi>(
    api: A,
    request: RequestOf<A>,
    timeoutMs: number,
  ): Promise<ResponseOf<A>> => {
    const endAt = runtime.clock.monotonic() + timeoutMs
    const failures: KafkaError[] = []
    const inTurn = candidates()
    for (const [index, [address, node]] of inTurn.entries()) {
      const leftMs = endAt - runtime.clock.monotonic()
      if (leftMs <= 0) break
      try {
        // A node that never answers must leave time for the others.
        const isLast = index === inTurn.length - 1
        const answer = await nodes.send(node, api, request, isLast ? leftMs : leftMs / 2)
        if (api === 'Metadata') assertSound(answer as MetadataResponse)
        silent.delete(address)
        return answer
      } catch (error) {
        silent.add(address)
        failures.push(toKafkaError(api, error))
      }
    }
    // A single node may refuse what the others accept. The error is fatal only if every node refuses.
    const refusal = failures.find(({ kind }) => kind === 'FATAL')
    const isByAll = failures.length === inTurn.length && failures.every(({ kind }) => kind === 'FATAL')
    if (isByAll && refusal !== undefined) throw ofCluster(refusal)
    const cause = refusal ?? failures.at(-1)
    const last = cause === undefined ? '' : ` Last error: ${cause.message}`
    throw new KafkaError(`${api}: no node of the cluster answers.${last}`, 'RETRIABLE', {
      cause,
      scope: 'CLUSTER',
      hint: 'Check that the brokers are running and that this process can reach their advertised addresses.',
    })
  }

  const learn = (answer: MetadataResponse, isWhole: boolean): Map<string, TopicDescription> => {
    const byId = new Map(answer.brokers.map((broker) => [broker.nodeId, broker]))
    members = answer.brokers.map(({ host, port }) => ({ host, port }))
    // Replaced nodes are never contacted again.
    const inUse = new Set([...members, ...bootstrap].map(addressOf))
    for (const address of silent) if (!inUse.has(address)) silent.delete(address)
    if (isWhole) topicByName.clear()
    const learned = new Map<string, TopicDescription>()
    for (const topic of answer.topics) {
      if (topic.name === null) continue
      // The response does not list partitions: the topic does not exist (yet), or access is denied.
      if (topic.partitions.length === 0) {
        topicByName.delete(topic.name)
        const isUnexplained = topic.errorCode === errorCode.NONE
        refusals.set(topic.name, isUnexplained ? errorCode.UNKNOWN_TOPIC_OR_PARTITION : topic.errorCode)
        continue
      }
      refusals.delete(topic.name)
      const leaders: (Leader | null)[] = []
      for (const partition of topic.partitions) {
        const node = byId.get(partition.leaderId)
        leaders[partition.partitionIndex] =
          node === undefined
            ? null
            : { nodeId: node.nodeId, host: node.host, port: node.port, leaderEpoch: partition.leaderEpoch }
      }
      const description = {
        name: topic.name,
        topicId: topic.topicId,
        isInternal: topic.isInternal,
        leaders: Array.from(leaders, (leader) => leader ?? null),
      }
      topicByName.set(topic.name, description)
      partitionCounts.set(topic.name, leaders.length)
      learned.set(topic.name, description)
    }
    return learned
  }

  return {
    anyNode,
    async brokers(timeoutMs) {
      learn(await anyNode('Metadata', { topics: [] }, timeoutMs), false)
      return members
    },
    known: (topic) => topicByName.get(topic),
    partitionCount: (topic) => partitionCounts.get(topic),
    refusal(topic) {
      const code = refusals.get(topic)
      return code === undefined ? undefined : kafkaError(`Cannot describe topic ${topic}`, code)
    },
    async topics(names, timeoutMs) {
      const missing = names.filter((name) => !topicByName.has(name))
      if (missing.length > 0) learn(await anyNode('Metadata', { topics: missing }, timeoutMs), false)
      const found = new Map<string, TopicDescription>()
      for (const name of names) {
        const description = topicByName.get(name)
        if (description !== undefined) found.set(name, description)
      }
      return found
    },
    async refresh(names, timeoutMs) {
      return learn(await anyNode('Metadata', { topics: names }, timeoutMs), false)
    },
    async allTopics(timeoutMs) {
      return learn(await anyNode('Metadata', { topics: null }, timeoutMs), true)
    },
    invalidateTopic(topic) {
      topicByName.delete(topic)
    },
    async coordinator(kind, key, timeoutMs) {
      const name = `${kind}:${key}`
      const known = coordinators.get(name)
      if (known !== undefined) return known
      const answer = await anyNode('FindCoordinator', { kind, key }, timeoutMs)
      assertNoError(`Cannot find the coordinator of ${key}`, answer.errorCode, answer.errorMessage)
      const node = { host: answer.host, port: answer.port }
      coordinators.set(name, node)
      return node
    },
    invalidateCoordinator(kind, key) {
      coordinators.delete(`${kind}:${key}`)
    },
  }
}
