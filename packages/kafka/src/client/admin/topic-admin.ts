/** Admin calls for topics and their configs. */

import { ArgumentError } from '@waybill/core'
import { errorCode } from '../../wire/api/error-codes.ts'
import type { KafkaApi, RequestOf, ResponseOf, TopicErrorsResponse } from '../../wire/api/kafka-apis.ts'
import type { Cluster } from '../cluster/cluster.ts'
import { KafkaError } from '../cluster/kafka-error.ts'
import type { Nodes } from '../cluster/nodes.ts'
import type { Admin, ConfigEntry, NewTopic } from './admin.ts'
import { outcomeOf, type TopicResult } from './admin-result.ts'
import { mayComeAbout, untilAllSee } from './broker-views.ts'
import { askPartitions, offsetsAt } from './offset-admin.ts'
import { type Answers, mayReadAgain, mayWriteAgain, type Rounds, type StartRounds } from './rounds.ts'
import { isMissing, type TopicView, topicError, viewTopics } from './topic-view.ts'

/** The part of {@link Admin} that deals with topics. */
export type TopicAdmin = Pick<
  Admin,
  | 'createTopics'
  | 'deleteTopics'
  | 'createPartitions'
  | 'listTopics'
  | 'describeTopics'
  | 'describeConfigs'
  | 'alterConfigs'
>

/** Share of our timeout that brokers get, so that they time out first and report the result. */
const brokerShare = 0.8

export function createTopicAdmin(cluster: Cluster, nodes: Nodes, start: StartRounds): TopicAdmin {
  /** Sends the request to one broker, another one each round. It forwards the request to the controller. */
  const oneBroker = async <A extends KafkaApi>(
    rounds: Rounds,
    round: number,
    api: A,
    request: RequestOf<A>,
  ): Promise<ResponseOf<A>> => {
    const brokers = await cluster.brokers(rounds.timeoutMs)
    const node = brokers[round % brokers.length]
    if (node === undefined) throw new KafkaError(`${api}: the cluster returned no broker.`, 'RETRIABLE')
    return nodes.send(node, api, request, rounds.timeoutMs)
  }

  /** Changes topics and returns a result for each. Invalidates their cached metadata. */
  const change = async (
    rounds: Rounds,
    what: string,
    topics: readonly string[],
    ask: (open: readonly string[], round: number) => Promise<TopicErrorsResponse>,
    afterwards: (changed: readonly string[]) => Promise<ReadonlyMap<string, KafkaError>> = async () => new Map(),
  ): Promise<TopicResult[]> => {
    const answers = await rounds.settle(topics, mayWriteAgain, async (open, round) =>
      readErrors(what, await ask(open, round)),
    )
    const troubles = await afterwards([...answers].flatMap(([topic, answer]) => (answer === true ? [topic] : [])))
    for (const topic of answers.keys()) cluster.invalidateTopic(topic)
    return topicOutcomes(new Map([...answers, ...troubles]), () => ({}))
  }

  /** Waits until every broker knows the new partitions and each has a leader that answers. Returns the errors. */
  const awaitReady = async (
    rounds: Rounds,
    created: readonly string[],
    countOf: (topic: string) => number,
  ): Promise<ReadonlyMap<string, KafkaError>> => {
    const views = await untilAllSee(cluster, nodes, rounds, created, (topic, view) => allThere(view, countOf(topic)))
    const partitions = [...views].flatMap(([topic, view]) =>
      view instanceof KafkaError ? [] : view.partitions.map(({ partition }) => ({ topic, partition })),
    )
    const ready = await rounds.settle(partitions, mayComeAbout, (open) =>
      askPartitions(cluster, rounds, open, offsetsAt(nodes, rounds, 'EARLIEST')),
    )
    const answers = [...views, ...[...ready].map(([{ topic }, answer]) => [topic, answer] as const)]
    return new Map(
      answers.flatMap(([topic, answer]) => (answer instanceof KafkaError ? [[topic, notReady(topic, answer)]] : [])),
    )
  }

  /**
   * Waits until all brokers have dropped the topics. The deletion counts even if a broker does not learn of it in time.
   */
  const untilForgotten = async (rounds: Rounds, idByTopic: ReadonlyMap<string, string>): Promise<void> => {
    await untilAllSee(cluster, nodes, rounds, [...idByTopic.keys()], (topic, view) => {
      const isGone = view instanceof KafkaError ? isMissing(view) : view.topicId !== idByTopic.get(topic)
      return isGone || new KafkaError(`${topic} is still known.`, 'RETRIABLE')
    })
  }

  return {
    async createTopics(given, options) {
      const rounds = start(options)
      checkNamedOnce(given)
      const byName = new Map(given.map((topic) => [topic.topic, topic]))
      return change(
        rounds,
        'Creating it',
        [...byName.keys()],
        (open, round) =>
          oneBroker(rounds, round, 'CreateTopics', {
            topics: open.map((name) => creationOf(byName.get(name) as NewTopic)),
            timeoutMs: Math.ceil(rounds.timeoutMs * brokerShare),
            validateOnly: false,
          }),
        (created) => awaitReady(rounds, created, (name) => byName.get(name)?.partitions ?? 0),
      )
    },

    async deleteTopics(topics, options) {
      const rounds = start(options)
      const before = await rounds.settle(topics, mayReadAgain, (open) => viewTopics(cluster, open, rounds.timeoutMs))
      return change(
        rounds,
        'Deleting it',
        topics,
        (open, round) =>
          oneBroker(rounds, round, 'DeleteTopics', {
            topicNames: open,
            timeoutMs: Math.ceil(rounds.timeoutMs * brokerShare),
          }),
        async (deleted) => {
          const ids = deleted.flatMap((topic): [string, string][] => {
            const view = before.get(topic)
            return view === undefined || view instanceof KafkaError ? [] : [[topic, view.topicId]]
          })
          await untilForgotten(rounds, new Map(ids))
          return new Map()
        },
      )
    },

    createPartitions(counts, options) {
      const rounds = start(options)
      const countOf = (topic: string): number => counts[topic] ?? 0
      return change(
        rounds,
        'Adding partitions',
        Object.keys(counts),
        (open, round) =>
          oneBroker(rounds, round, 'CreatePartitions', {
            topics: open.map((name) => ({ name, count: countOf(name) })),
            timeoutMs: Math.ceil(rounds.timeoutMs * brokerShare),
            validateOnly: false,
          }),
        (grown) => awaitReady(rounds, grown, countOf),
      )
    },

    async listTopics(options) {
      const rounds = start(options)
      const views = await rounds.one(mayReadAgain, () => viewTopics(cluster, null, rounds.timeoutMs))
      return [...views].flatMap(([topic, view]) => (view instanceof KafkaError || view.isInternal ? [] : [topic]))
    },

    async describeTopics(topics, options) {
      const rounds = start(options)
      const views = await rounds.settle(topics, mayReadAgain, (open) => viewTopics(cluster, open, rounds.timeoutMs))
      return topicOutcomes(views, (view) => view)
    },

    async describeConfigs(topics, options) {
      const rounds = start(options)
      const answers = await rounds.settle(topics, mayReadAgain, async (open) =>
        readConfigs(await cluster.anyNode('DescribeConfigs', { topics: open }, rounds.timeoutMs)),
      )
      return topicOutcomes(answers, (configs) => ({ configs }))
    },

    alterConfigs(changes, options) {
      const rounds = start(options)
      return change(rounds, 'Changing its configs', Object.keys(changes), (open, round) =>
        oneBroker(rounds, round, 'IncrementalAlterConfigs', {
          topics: open.map((name) => ({ name, configs: configList(changes[name] ?? {}) })),
          validateOnly: false,
        }),
      )
    },
  }
}

/** @throws ArgumentError when a topic is listed twice: the result would be ambiguous. */
function checkNamedOnce(topics: readonly NewTopic[]): void {
  const names = new Set<string>()
  for (const { topic } of topics) {
    if (names.has(topic))
      throw new ArgumentError(`Topic ${topic} is listed twice.`, { impact: 'No topic was created.' })
    names.add(topic)
  }
}

function creationOf({ topic, partitions, replication, configs = {} }: NewTopic) {
  return { name: topic, numPartitions: partitions, replicationFactor: replication, configs: configList(configs) }
}

function configList(configs: Readonly<Record<string, string | null>>) {
  return Object.entries(configs).map(([name, value]) => ({ name, value }))
}

function readErrors(what: string, { topics }: TopicErrorsResponse): Answers<string, true> {
  return new Map(
    topics.map((topic) => [
      topic.name,
      topic.errorCode === errorCode.NONE ? true : topicError(what, topic.name, topic.errorCode, topic.errorMessage),
    ]),
  )
}

function readConfigs({ topics }: ResponseOf<'DescribeConfigs'>): Answers<string, ReadonlyMap<string, ConfigEntry>> {
  return new Map(
    topics.map((topic) => [
      topic.name,
      topic.errorCode === errorCode.NONE
        ? new Map(topic.configs.map(({ name, value, isDefault }) => [name, { value, isDefault }]))
        : topicError('Reading its configs', topic.name, topic.errorCode, topic.errorMessage),
    ]),
  )
}

function allThere(view: TopicView | KafkaError, count: number): TopicView | KafkaError {
  if (view instanceof KafkaError || view.partitions.length >= count) return view
  return new KafkaError(`${view.partitions.length} of ${count} partitions exist.`, 'RETRIABLE')
}

function notReady(topic: string, trouble: KafkaError): KafkaError {
  return new KafkaError(
    `Not every partition of ${topic} has an available leader yet: ${trouble.message}`,
    'RETRIABLE',
    {
      cause: trouble,
      impact: 'The partitions were created.',
      hint: 'Check again later, and that enough brokers are running.',
    },
  )
}

function topicOutcomes<T, V extends object>(answers: Answers<string, T>, valueOf: (answer: T) => V): TopicResult<V>[] {
  return [...answers].map(([topic, answer]) => ({ topic, ...outcomeOf(answer, valueOf) }))
}
