import { Admin } from '@platformatic/kafka'
import { systemClock, systemTimers } from '@waybill/core/internal'
import type { Place, PlaceKind } from './place.ts'

/** Settings of a new topic. */
export interface TopicOptions {
  /** @defaultValue 1 */
  readonly partitions?: number
  /** @defaultValue 1 */
  readonly replicas?: number
  /** Settings of the topic by their Kafka names. */
  readonly config?: Readonly<Record<string, string>>
}

/** Topics and groups with a prefix of their own, including those that the code under test creates. */
export interface KafkaPlace extends Place {
  readonly prefix: string
  /** Addresses of the brokers. */
  readonly bootstrap: readonly string[]
  /** Returns the name of a topic or group with the prefix. */
  named(name: string): string
  /** Creates a topic and returns its full name. */
  createTopic(name: string, options?: TopicOptions): Promise<string>
  /** Lists the full names of its topics. */
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
    // One by one: a group whose members were killed cannot be deleted before their sessions expire. It holds no records.
    for (const group of groups) await admin.deleteGroups({ groups: [group] }).catch(() => {})
  })
}

/** Waits until the brokers list what the controller has decided: their metadata lags by a moment. */
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
