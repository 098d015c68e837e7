import { Admin } from '@platformatic/kafka'
import { systemClock, systemTimers } from '@waybill/core/internal'
import type { Place, PlaceKind } from './place.ts'

/** How a topic is created. */
export interface TopicOptions {
  /** @defaultValue 1 */
  readonly partitions?: number
  /** @defaultValue 1 */
  readonly replicas?: number
  /** Settings of the topic by their Kafka names. */
  readonly config?: Readonly<Record<string, string>>
}

/** The topics and groups that begin with a prefix of one's own, also those the code under test creates. */
export interface KafkaPlace extends Place {
  readonly prefix: string
  /** Where the brokers are. */
  readonly bootstrap: readonly string[]
  /** The name by which this place knows a topic or group: with its prefix. */
  named(name: string): string
  /** Creates a topic and answers its whole name. */
  createTopic(name: string, options?: TopicOptions): Promise<string>
  /** The whole names of its topics. */
  topics(): Promise<string[]>
}

/** Prefixes of topics and groups as places. */
export const kafkaPlaces: PlaceKind<KafkaPlace> = {
  create(url, name) {
    const prefix = `${name}.`
    const bootstrap = url.split(',')
    const isOwn = (candidate: string): boolean => candidate.startsWith(prefix)
    return {
      prefix,
      bootstrap,
      named: (plain) => prefix + plain,
      async createTopic(plain, { partitions = 1, replicas = 1, config = {} } = {}) {
        const topic = prefix + plain
        const configs = Object.entries(config).map(([setting, value]) => ({ name: setting, value }))
        await withAdmin(bootstrap, async (admin) => {
          await admin.createTopics({ topics: [topic], partitions, replicas, configs })
          await untilListed(admin, (listed) => listed.includes(topic))
        })
        return topic
      },
      open: async () => {},
      topics: () => withAdmin(bootstrap, async (admin) => (await admin.listTopics()).filter(isOwn)),
      close: () => deleteAll(bootstrap, isOwn),
    }
  },
  sweep: (url, isStale) => deleteAll(url.split(','), isStale),
}

async function deleteAll(bootstrap: readonly string[], isWanted: (name: string) => boolean): Promise<void> {
  await withAdmin(bootstrap, async (admin) => {
    const topics = (await admin.listTopics()).filter(isWanted)
    if (topics.length > 0) await admin.deleteTopics({ topics })
    await untilListed(admin, (listed) => !listed.some((topic) => topics.includes(topic)))
    const groups = [...(await admin.listGroups()).keys()].filter(isWanted)
    // One by one: a group whose members were killed cannot be deleted before their sessions end, and holds nothing.
    for (const group of groups) await admin.deleteGroups({ groups: [group] }).catch(() => {})
  })
}

/** The controller has decided before the brokers know: what one of them lists is a moment old. */
async function untilListed(admin: Admin, isSo: (topics: readonly string[]) => boolean): Promise<void> {
  const endAt = systemClock.monotonic() + 20_000
  while (!isSo(await admin.listTopics())) {
    if (systemClock.monotonic() > endAt) throw new Error('The topics of Kafka did not change in 20 s.')
    await systemTimers.sleep(20)
  }
}

async function withAdmin<T>(bootstrap: readonly string[], work: (admin: Admin) => Promise<T>): Promise<T> {
  const admin = new Admin({ clientId: 'waybill-test', bootstrapBrokers: [...bootstrap], retries: 5, retryDelay: 200 })
  try {
    return await work(admin)
  } finally {
    await admin.close()
  }
}
