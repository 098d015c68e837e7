/** Requests about topics, and about where things are: metadata and coordinators. */

import {
  type CreateTopicsRequest,
  errorCode,
  type MetadataResponse,
  type TopicErrorsResponse,
} from '@waybill/kafka/wire'
import type { CoordinatorPlacement } from './coordinator-placement.ts'
import { errorResponses, zeroUuid } from './error-response.ts'
import type { NodeTable } from './node-table.ts'
import type { RequestHandlers } from './request-handler.ts'
import { configProblem } from './topic-config.ts'
import { noNode, type Partition, type Topic, type TopicTable } from './topic-table.ts'

type TopicApi =
  | 'Metadata'
  | 'FindCoordinator'
  | 'CreateTopics'
  | 'DeleteTopics'
  | 'CreatePartitions'
  | 'DescribeConfigs'
  | 'IncrementalAlterConfigs'

type TopicAnswer = TopicErrorsResponse['topics'][number]

interface Problem {
  readonly errorCode: number
  readonly errorMessage: string
}

const fine = { errorCode: errorCode.NONE, errorMessage: null }
const unknownTopic: Problem = {
  errorCode: errorCode.UNKNOWN_TOPIC_OR_PARTITION,
  errorMessage: 'This server does not host this topic-partition.',
}

/** Answers them. */
export function topicHandlers(parts: {
  clusterId: string
  nodes: NodeTable
  topics: TopicTable
  placement: CoordinatorPlacement
  deleteTopic: (topic: Topic) => void
}): RequestHandlers<TopicApi> {
  const { clusterId, nodes, topics, placement, deleteTopic } = parts

  const describePartition = (partition: Partition): MetadataResponse['topics'][number]['partitions'][number] => ({
    errorCode: partition.leader === noNode ? errorCode.LEADER_NOT_AVAILABLE : errorCode.NONE,
    partitionIndex: partition.index,
    leaderId: partition.leader,
    leaderEpoch: partition.leaderEpoch,
    replicaNodes: partition.replicas,
    isrNodes: partition.replicas.filter((node) => nodes.isUp(node)),
  })

  const describeTopic = (name: string): MetadataResponse['topics'][number] => {
    const topic = topics.byName(name)
    if (topic === undefined) {
      const code = nameProblem(name) === null ? errorCode.UNKNOWN_TOPIC_OR_PARTITION : errorCode.INVALID_TOPIC_EXCEPTION
      return { errorCode: code, name, topicId: zeroUuid, isInternal: false, partitions: [] }
    }
    const partitions = topic.partitions.map(describePartition)
    return { errorCode: errorCode.NONE, name, topicId: topic.id, isInternal: false, partitions }
  }

  const create = (
    asked: CreateTopicsRequest['topics'][number],
    validateOnly: boolean,
    namesBefore: readonly string[],
  ): TopicAnswer => {
    const problem = creationProblem(asked, topics, namesBefore, nodes)
    if (problem === null && !validateOnly)
      topics.create({
        name: asked.name,
        partitions: asked.numPartitions === -1 ? 1 : asked.numPartitions,
        replicationFactor: asked.replicationFactor === -1 ? 1 : asked.replicationFactor,
        configs: asked.configs,
        firstOffset: 0n,
      })
    return { name: asked.name, ...(problem ?? fine) }
  }

  return {
    Metadata: ({ topics: asked }) => ({
      brokers: nodes.up.map((nodeId) => ({ nodeId, ...nodes.addressOf(nodeId) })),
      clusterId,
      controllerId: nodes.up[0] ?? noNode,
      topics: (asked ?? [...topics.all].map(({ name }) => name)).map(describeTopic),
    }),

    FindCoordinator: (request) => {
      const nodeId = placement.nodeOf(request.kind, request.key)
      if (nodeId === noNode) return errorResponses.FindCoordinator(request, errorCode.COORDINATOR_NOT_AVAILABLE)
      return { ...fine, nodeId, ...nodes.addressOf(nodeId) }
    },

    CreateTopics: ({ topics: asked, validateOnly }) => {
      const namesBefore = [...topics.all].map(({ name }) => name)
      return { topics: asked.map((topic) => create(topic, validateOnly, namesBefore)) }
    },

    DeleteTopics: ({ topicNames }) => ({
      topics: topicNames.map((name) => {
        const topic = topics.byName(name)
        if (topic === undefined) return { name, ...unknownTopic }
        deleteTopic(topic)
        return { name, ...fine }
      }),
    }),

    CreatePartitions: ({ topics: asked, validateOnly }) => ({
      topics: asked.map(({ name, count }) => {
        const topic = topics.byName(name)
        if (topic === undefined) return { name, ...unknownTopic }
        if (count <= topic.partitions.length) return { name, ...tooFewPartitions(topic, count) }
        if (!validateOnly) topics.addPartitions(topic, count)
        return { name, ...fine }
      }),
    }),

    DescribeConfigs: ({ topics: asked }) => ({
      topics: asked.map((name) => {
        const topic = topics.byName(name)
        if (topic === undefined) return { name, ...unknownTopic, configs: [] }
        return { name, ...fine, configs: topic.config.describe() }
      }),
    }),

    IncrementalAlterConfigs: ({ topics: asked, validateOnly }) => ({
      topics: asked.map(({ name, configs }) => {
        const topic = topics.byName(name)
        if (topic === undefined) return { name, ...unknownTopic }
        const problem = configsProblem(configs)
        if (problem === null && !validateOnly) topic.config.change(configs)
        return { name, ...(problem ?? fine) }
      }),
    }),
  }
}

function creationProblem(
  { name, numPartitions, replicationFactor, configs }: CreateTopicsRequest['topics'][number],
  topics: TopicTable,
  namesBefore: readonly string[],
  nodes: NodeTable,
): Problem | null {
  const invalidName = nameProblem(name)
  if (invalidName !== null) return { errorCode: errorCode.INVALID_TOPIC_EXCEPTION, errorMessage: invalidName }
  if (topics.byName(name) !== undefined)
    return { errorCode: errorCode.TOPIC_ALREADY_EXISTS, errorMessage: `Topic '${name}' already exists.` }
  // Metrics of both would have one name. Two topics of one request are not compared.
  const twin = namesBefore.find((existing) => existing.replaceAll('.', '_') === name.replaceAll('.', '_'))
  if (twin !== undefined)
    return {
      errorCode: errorCode.INVALID_TOPIC_EXCEPTION,
      errorMessage: `Topic '${name}' collides with existing topic: ${twin}`,
    }
  if (numPartitions === 0 || numPartitions < -1)
    return {
      errorCode: errorCode.INVALID_PARTITIONS,
      errorMessage: 'Number of partitions was set to an invalid value.',
    }
  if (replicationFactor === 0 || replicationFactor < -1 || replicationFactor > nodes.up.length)
    return {
      errorCode: errorCode.INVALID_REPLICATION_FACTOR,
      errorMessage: `Unable to replicate the partition ${replicationFactor} time(s): ${nodes.up.length} broker(s) are up.`,
    }
  return configsProblem(configs)
}

function nameProblem(name: string): string | null {
  if (name === '' || name === '.' || name === '..') return `the topic name '${name}' is not allowed`
  if (name.length > 249) return 'the topic name is longer than 249 characters'
  return /^[\w.-]+$/.test(name) ? null : `the topic name '${name}' has characters other than letters, digits, . _ -`
}

function configsProblem(configs: CreateTopicsRequest['topics'][number]['configs']): Problem | null {
  for (const config of configs) {
    const errorMessage = configProblem(config)
    if (errorMessage !== null) return { errorCode: errorCode.INVALID_CONFIG, errorMessage }
  }
  return null
}

function tooFewPartitions({ partitions }: Topic, count: number): Problem {
  const has = partitions.length
  return {
    errorCode: errorCode.INVALID_PARTITIONS,
    errorMessage:
      count === has
        ? `Topic already has ${has} partition(s).`
        : `The topic currently has ${has} partition(s); ${count} would not be an increase.`,
  }
}
