import { type Runtime, systemRuntime } from '@waybill/core'
import type { SharedLog } from '@waybill/core/internal'
import { boolean, hasMethods, instance, resolveOptions, text } from '@waybill/core/option'
import { runtimeRule } from '../client/cluster/optional-runtime.ts'
import type { KafkaClient } from '../client/kafka-client.ts'
import { TopicLog } from './topic-log.ts'

/** Options of {@link createTopicLog}. */
export interface TopicLogOptions {
  /** The client of the cluster. It is not closed by the log, and closes it. */
  readonly client: KafkaClient
  /** A topic of one partition that is compacted. @defaultValue `waybill.control` */
  readonly topic?: string | undefined
  /** Whether a missing topic is created, with the cluster's default replication. @defaultValue true */
  readonly createTopic?: boolean | undefined
  /** @defaultValue the system runtime */
  readonly runtime?: Runtime | undefined
}

const rules = {
  client: instance<KafkaClient>('a KafkaClient, made by createKafkaClient({ brokers })', (value) =>
    hasMethods(value, 'reader', 'producer'),
  ),
  topic: text({ default: 'waybill.control', because: 'it is the log of `createFleetControl`' }),
  createTopic: boolean({ default: true, because: 'a fleet that waits for a topic does not start' }),
  runtime: runtimeRule,
}

/**
 * Creates a log on a compacted topic that the instances of a fleet share, for `createFleetControl` of @waybill/connector. It
 * connects on first use, and reads without a group.
 *
 * @throws OptionsError
 */
export function createTopicLog(options: TopicLogOptions): SharedLog {
  const { client, topic, createTopic, runtime } = resolveOptions('createTopicLog', rules, options)
  return new TopicLog(client, { topic, createTopic, runtime: runtime ?? systemRuntime })
}
