import type { Timers } from '@waybill/core'
import type { Admin } from '../client/admin/admin.ts'
import { adminResultsOf, requireAllDone } from '../client/admin/admin-result.ts'
import { KafkaError } from '../client/cluster/kafka-error.ts'

/** The settings of a topic that a shared log creates. */
export const logTopicConfigs: Readonly<Record<string, string>> = {
  'cleanup.policy': 'compact',
  // A reader that lags by less sees every change, and not the newest alone.
  'min.compaction.lag.ms': '60000',
  'delete.retention.ms': '86400000',
  // The segment in use is never compacted, and a fleet writes its states every few seconds.
  'segment.ms': '600000',
  'min.cleanable.dirty.ratio': '0.1',
  // One clock for all instances.
  'message.timestamp.type': 'LogAppendTime',
}

/** How often a topic that was created is looked for: brokers learn of it one after the other. */
const mostLooks = 10
const lookEveryMs = 100

/**
 * Creates the topic of a log unless it exists, and returns its id.
 * @throws KafkaError for a topic that is missing and may not be created, that has several partitions, or that is not compacted
 */
export async function prepareLogTopic(
  admin: Pick<Admin, 'describeTopics' | 'createTopics' | 'describeConfigs'>,
  { topic, createTopic, timers }: { readonly topic: string; readonly createTopic: boolean; readonly timers: Timers },
  deadlineMs: number,
): Promise<string> {
  const found = await describe(admin, topic, deadlineMs)
  if (found !== undefined) {
    await check(admin, topic, found.partitions, deadlineMs)
    return found.topicId
  }
  if (!createTopic)
    throw new KafkaError(`The topic ${topic} does not exist.`, 'FATAL', {
      reason: 'UNKNOWN_TOPIC_OR_PARTITION',
      hint: 'Create it with one partition and cleanup.policy=compact, or set createTopic.',
    })
  const declared = { topic, partitions: 1, replication: -1, configs: logTopicConfigs }
  const [created] = await adminResultsOf(admin.createTopics([declared], { deadlineMs }))
  if (created?.outcome === 'FAILED' && created.error.reason !== 'TOPIC_ALREADY_EXISTS') throw created.error
  let made = await describe(admin, topic, deadlineMs)
  for (let looks = 1; made === undefined && looks < mostLooks; looks++) {
    await timers.sleep(lookEveryMs)
    made = await describe(admin, topic, deadlineMs)
  }
  if (made === undefined) throw new KafkaError(`The topic ${topic} was created and is not known yet.`, 'RETRIABLE')
  await check(admin, topic, made.partitions, deadlineMs)
  return made.topicId
}

interface FoundTopic {
  readonly topicId: string
  readonly partitions: number
}

async function describe(
  admin: Pick<Admin, 'describeTopics'>,
  topic: string,
  deadlineMs: number,
): Promise<FoundTopic | undefined> {
  const [view] = await admin.describeTopics([topic], { deadlineMs })
  if (view?.outcome === 'FAILED' && view.error.reason === 'UNKNOWN_TOPIC_OR_PARTITION') return undefined
  const [described] = requireAllDone(`Describing ${topic}`, view === undefined ? [] : [view])
  return described === undefined ? undefined : { topicId: described.topicId, partitions: described.partitions.length }
}

async function check(
  admin: Pick<Admin, 'describeConfigs'>,
  topic: string,
  partitions: number,
  deadlineMs: number,
): Promise<void> {
  if (partitions !== 1)
    throw new KafkaError(`The topic ${topic} has ${partitions} partitions.`, 'FATAL', {
      hint: 'The order of a shared log is that of one partition. Use another topic.',
    })
  const [described] = await admin.describeConfigs([topic], { deadlineMs })
  // Without the permission to read settings, the topic is used as it is.
  if (described?.outcome === 'FAILED' && described.error.reason === 'TOPIC_AUTHORIZATION_FAILED') return
  const [settings] = requireAllDone(`Reading the settings of ${topic}`, described === undefined ? [] : [described])
  const policy = settings?.configs.get('cleanup.policy')?.value
  if (policy === undefined || policy === null || policy === 'compact') return
  throw new KafkaError(
    `The topic ${topic} has cleanup.policy=${policy}, which deletes entries by their age.`,
    'FATAL',
    {
      hint: 'Set cleanup.policy=compact, or use another topic.',
    },
  )
}
