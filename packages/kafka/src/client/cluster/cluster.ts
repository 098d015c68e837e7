/**
 * What the client knows of the cluster: nodes, topics, leaders, coordinators. Everything here is a cache of an answer
 * that may be old; whoever meets an error that says so invalidates it and asks again.
 */

import type { Runtime } from '@waybill/core'
import { errorCode } from '../../wire/api/error-codes.ts'
import type { CoordinatorKind, KafkaApi, MetadataResponse, RequestOf, ResponseOf } from '../../wire/api/kafka-apis.ts'
import type { NodeAddress } from '../../wire/broker/kafka-transport.ts'
import { assertNoError, KafkaError, kafkaError, toKafkaError } from './kafka-error.ts'
import { assertSound } from './metadata-answer.ts'
import { addressOf, type Nodes } from './nodes.ts'

/** A partition's leader as of the last answer. */
export interface Leader extends NodeAddress {
  readonly nodeId: number
  readonly leaderEpoch: number
}

/** A topic as of the last answer. A topic that was deleted and created again has another id. */
export interface TopicDescription {
  readonly name: string
  readonly topicId: string
  readonly isInternal: boolean
  /** By partition number; null while a partition has no leader. */
  readonly leaders: readonly (Leader | null)[]
}

/** The client's view of the cluster. */
export interface Cluster {
  /** The topic if it is known and nobody has called it old, without asking. */
  known(topic: string): TopicDescription | undefined
  /** Why the last answer had nothing of this topic: it does not exist, or we may not look. */
  refusal(topic: string): KafkaError | undefined
  /**
   * The topics, asked for where unknown or old. One request asks for all; a topic that does not exist is absent from the
   * answer and fails nobody else. Rejects with KafkaError when no node answers within `timeoutMs`.
   */
  topics(names: readonly string[], timeoutMs: number): Promise<ReadonlyMap<string, TopicDescription>>
  /** Asks again, also for what is known; meanwhile what is known stays so. Answers as `topics` does. */
  refresh(names: readonly string[], timeoutMs: number): Promise<ReadonlyMap<string, TopicDescription>>
  /** Every topic of the cluster. */
  allTopics(timeoutMs: number): Promise<ReadonlyMap<string, TopicDescription>>
  /** An answer said that what is known of this topic is old. */
  invalidateTopic(topic: string): void
  /** The node that coordinates a group or a transactional id, found anew after `invalidateCoordinator`. */
  coordinator(kind: CoordinatorKind, key: string, timeoutMs: number): Promise<NodeAddress>
  invalidateCoordinator(kind: CoordinatorKind, key: string): void
  /** Where the brokers are now. */
  brokers(timeoutMs: number): Promise<readonly NodeAddress[]>
  /**
   * The first answer of any node: for requests that every node takes and that change nothing, because a node that does
   * not answer is not waited for, and may have acted all the same.
   */
  anyNode<A extends KafkaApi>(api: A, request: RequestOf<A>, timeoutMs: number): Promise<ResponseOf<A>>
}

/** Makes a {@link Cluster} that learns from `bootstrap` first and from every node it hears of later. */
export function createCluster(
  nodes: Nodes,
  bootstrap: readonly NodeAddress[],
  runtime: Pick<Runtime, 'clock' | 'random'>,
): Cluster {
  const topicByName = new Map<string, TopicDescription>()
  /** The codes of topics of which the last answer had nothing. */
  const refusals = new Map<string, number>()
  const coordinators = new Map<string, NodeAddress>()
  let members: readonly NodeAddress[] = []
  /** Addresses that gave no answer when last asked. */
  const silent = new Set<string>()

  /**
   * Known nodes first, in an order that spreads load; the bootstrap addresses in case all of them have moved. Whoever was
   * silent comes last, so that a dead node costs its wait once and not at every request.
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
        // Nodes that swallow everything must leave time for the others.
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
    // One that refuses may be alone in that: only what every node refuses cannot be helped by trying again.
    const refusal = failures.find(({ kind }) => kind === 'FATAL')
    const isByAll = failures.length === inTurn.length && failures.every(({ kind }) => kind === 'FATAL')
    if (isByAll && refusal !== undefined) throw refusal
    const cause = refusal ?? failures.at(-1)
    const last = cause === undefined ? '' : ` The last one: ${cause.message}`
    throw new KafkaError(`${api}: no node of the cluster answers.${last}`, 'RETRIABLE', {
      cause,
      hint: 'Check that the brokers run and that their advertised addresses can be reached from here.',
    })
  }

  const learn = (answer: MetadataResponse, isWhole: boolean): Map<string, TopicDescription> => {
    const byId = new Map(answer.brokers.map((broker) => [broker.nodeId, broker]))
    members = answer.brokers.map(({ host, port }) => ({ host, port }))
    // Addresses of nodes that were replaced are never asked again.
    const inUse = new Set([...members, ...bootstrap].map(addressOf))
    for (const address of silent) if (!inUse.has(address)) silent.delete(address)
    if (isWhole) topicByName.clear()
    const learnt = new Map<string, TopicDescription>()
    for (const topic of answer.topics) {
      if (topic.name === null) continue
      // No answer about the topic's partitions: it does not exist (yet), or we may not look.
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
      learnt.set(topic.name, description)
    }
    return learnt
  }

  return {
    anyNode,
    async brokers(timeoutMs) {
      learn(await anyNode('Metadata', { topics: [] }, timeoutMs), false)
      return members
    },
    known: (topic) => topicByName.get(topic),
    refusal(topic) {
      const code = refusals.get(topic)
      return code === undefined ? undefined : kafkaError(`Cannot look at ${topic}`, code)
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
