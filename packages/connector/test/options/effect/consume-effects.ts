/** Effects of options that decide what is read, when, and in how large parts. */

import { Buffer } from 'node:buffer'
import type { EffectScene, OptionEffect } from './option-effect.ts'

const noTiers = { retry: { tiers: [] } }
const kilobyte = 1_000
const mebibyte = 2 ** 20

async function writeTo(scene: EffectScene, topic: string, values: readonly string[]): Promise<void> {
  await scene.world.write(topic, values)
  await scene.sleep(5_000)
}

/** Writes a batch that decompresses to three megabytes. */
async function writePacked({ world }: EffectScene): Promise<void> {
  const bytes = 3 * mebibyte
  const sizes = { batchBytes: 2 * bytes, maxRecordBytes: 2 * bytes, maxBufferedBytes: 4 * bytes }
  await using producer = world.client.producer('EVENT', { compression: 'SNAPPY', ...sizes })
  await producer.send({ topic: 'orders', partition: 0, key: null, value: Buffer.alloc(bytes) })
}

function joins({ requests }: EffectScene): ReturnType<typeof requests.of<'JoinGroup'>> {
  return requests.of('JoinGroup').filter(({ groupId }) => groupId === 'g')
}

function members({ world }: EffectScene): readonly { readonly groupInstanceId: string | null }[] {
  return world.sim.group('g').members
}

/** Blocks the first call for longer than the observation takes. */
async function blockFirst(scene: EffectScene): Promise<void> {
  scene.behave = (_, __, call) => (call === 1 ? scene.sleep(600_000) : undefined)
}

export const consumeEffects: readonly OptionEffect[] = [
  {
    path: 'topic',
    unusual: () => ({ topic: 'returns' }),
    async observe(scene) {
      scene.world.sim.createTopic('returns')
      await scene.start()
      await writeTo(scene, 'returns', ['returned'])
      return (await scene.write(['ordered'])).values
    },
    seen: ['returned'],
    usually: ['ordered'],
  },
  {
    path: 'groupId',
    unusual: () => ({ groupId: 'billing' }),
    async observe(scene) {
      await scene.start()
      return [...new Set(scene.requests.of('JoinGroup').map(({ groupId }) => groupId.split('-')[0]))]
    },
    seen: ['billing'],
    usually: ['g'],
  },
  {
    path: 'decode',
    unusual: () => ({ decode: 'json' }) as never,
    async observe(scene) {
      const kinds: string[] = []
      scene.behave = (value) => kinds.push(value)
      await (await scene.start()).write(['{ "a": 1 }'])
      return kinds
    },
    seen: ['{"a":1}'],
    usually: ['{ "a": 1 }'],
  },
  {
    path: 'handler',
    unusual: () => ({ handler: () => Promise.reject(new TypeError('another handler')) }),
    observe: async (scene) => [(await (await scene.start()).write(['a'], 1)).values],
    seen: [[]],
    usually: [['a']],
  },
  {
    path: 'filter',
    unusual: () => ({ filter: ({ value }) => String(value) !== 'a' }),
    observe: async (scene) => (await (await scene.start()).write(['a', 'b'])).values,
    seen: ['b'],
    usually: ['a', 'b'],
  },
  {
    path: 'preset',
    unusual: () => ({ preset: 'FANOUT' }),
    observe: async (scene) => (await scene.start()).topics(''),
    seen: ['dead_letters', 'orders'],
    usually: ['orders', 'orders.DLT', 'orders.retry-1', 'orders.retry-2', 'orders.retry-3'],
  },
  {
    path: 'cluster',
    unusual: () => ({ cluster: 'second' }),
    async observe(scene) {
      scene.second.createTopic('orders')
      await scene.start()
      return [scene.second, scene.world.sim].map((sim) => {
        try {
          return sim.group('g').members.length
        } catch {
          return 0
        }
      })
    },
    seen: [1, 0],
    usually: [0, 1],
  },
  {
    path: 'listenerType',
    unusual: () => ({ listenerType: 'BATCH' }),
    async observe(scene) {
      scene.behave = () => scene.sleep(100)
      await scene.write(['a', 'b', 'c'])
      return (await scene.start()).commits()
    },
    seen: [3],
    usually: [1, 2, 3],
  },
  {
    path: 'ackMode',
    unusual: () => ({ ackMode: 'MANUAL' }),
    given: () => ({ pollTimeoutMs: 1_000 }),
    async observe(scene) {
      scene.behave = () => scene.sleep(100)
      await scene.write(['a', 'b', 'c'])
      return (await scene.start()).commits()
    },
    seen: [3],
    usually: [1, 2, 3],
  },
  {
    path: 'concurrency',
    unusual: () => ({ concurrency: 3 }),
    partitions: 3,
    observe: async (scene) => members(await scene.start()).length,
    seen: 3,
    usually: 1,
  },
  {
    path: 'maxPollRecords',
    unusual: () => ({ maxPollRecords: 2 }),
    async observe(scene) {
      await scene.write(['a', 'b', 'c', 'd', 'e'])
      await scene.start()
      return scene.world.metrics.distribution('eventbus.batch.size').values
    },
    seen: [2, 2, 1],
    usually: [5],
  },
  {
    path: 'maxPollIntervalMs',
    unusual: () => ({ maxPollIntervalMs: 20_000 }),
    given: () => ({ maxPollRecords: 1, ...noTiers }),
    async observe(scene) {
      scene.behave = async () => {
        await scene.sleep(13_950)
        throw new Error('slow and failed')
      }
      await (await scene.start()).write(['a'], 60_000)
      // A process that does not poll leaves its group.
      scene.failpoint = () => scene.sleep(600_000)
      await scene.write(['b'], 60_000)
      return [scene.callsOf('a'), members(scene).length]
    },
    seen: [1, 0],
    usually: [3, 1],
  },
  {
    path: 'sessionTimeoutMs',
    unusual: () => ({ sessionTimeoutMs: 77_000 }),
    observe: async (scene) => joins(await scene.start()).map(({ sessionTimeoutMs }) => sessionTimeoutMs)[0],
    seen: 77_000,
    usually: 45_000,
  },
  {
    path: 'heartbeatIntervalMs',
    unusual: () => ({ heartbeatIntervalMs: 2_000 }),
    given: () => noTiers,
    async observe(scene) {
      await scene.start()
      await scene.sleep(60_000)
      const before = scene.requests.of('Heartbeat').length
      await scene.sleep(60_000)
      return scene.requests.of('Heartbeat').length - before
    },
    seen: 30,
    usually: 6,
  },
  {
    path: 'pollTimeoutMs',
    unusual: () => ({ pollTimeoutMs: 7_000 }),
    // Commits when a poll has returned.
    given: () => ({ ackMode: 'MANUAL' }),
    async observe(scene) {
      scene.behave = () => scene.sleep(50)
      await (await scene.start()).write(['a'])
      return scene.commits()
    },
    seen: [],
    usually: [1],
  },
  {
    path: 'idleBetweenPollsMs',
    unusual: () => ({ idleBetweenPollsMs: 10_000 }),
    given: () => ({ maxPollRecords: 1 }),
    observe: async (scene) => (await (await scene.start()).write(['a', 'b'])).values,
    seen: ['a'],
    usually: ['a', 'b'],
  },
  {
    path: 'pollIntervalSafetyThreshold',
    unusual: () => ({ pollIntervalSafetyThreshold: 0.1 }),
    given: () => ({ maxPollIntervalMs: 100_000, maxPollRecords: 2, ...noTiers }),
    async observe(scene) {
      scene.behave = async () => {
        await scene.sleep(20_000)
        throw new Error('slow and failed')
      }
      await (await scene.start()).write(['a'], 60_000)
      return scene.world.metrics.total('eventbus.poll.interval.safety.triggered') > 0
    },
    seen: true,
    usually: false,
  },
  {
    path: 'topicRefreshMs',
    unusual: () => ({ topicRefreshMs: 1_000 }),
    given: () => ({ topic: /^orders$|^new$/ }),
    async observe(scene) {
      await scene.start()
      scene.world.sim.createTopic('new')
      await writeTo(scene, 'new', ['a'])
      return scene.values
    },
    seen: ['a'],
    usually: [],
  },
  {
    path: 'autoStartup',
    unusual: () => ({ autoStartup: false }),
    observe: async (scene) => (await scene.start()).bus.getState('shipping'),
    seen: 'CREATED',
    usually: 'RUNNING',
  },
  {
    path: 'staticMembership',
    unusual: () => ({ staticMembership: true }),
    observe: async (scene) => members(await scene.start()).map(({ groupInstanceId }) => groupInstanceId !== null),
    seen: [true],
    usually: [false],
  },
  {
    path: 'instanceId',
    unusual: () => ({ instanceId: 'pod-7' }),
    given: () => ({ staticMembership: true }),
    observe: async (scene) =>
      members(await scene.start()).map(({ groupInstanceId }) => groupInstanceId?.includes('pod-7')),
    seen: [true],
    usually: [false],
  },
  {
    path: 'startFrom',
    unusual: () => ({ startFrom: 'LATEST' }),
    async observe(scene) {
      await scene.write(['before'])
      return (await (await scene.start()).write(['after'])).values
    },
    seen: ['after'],
    usually: ['before', 'after'],
  },
  {
    path: 'startOffsets',
    unusual: () => ({ startOffsets: async (places) => places.map((place) => ({ ...place, offset: 0n })) }),
    async observe(scene) {
      await (await scene.start()).write(['a', 'b'])
      await scene.bus.stop('shipping')
      await scene.bus.start('shipping')
      await scene.sleep(5_000)
      return scene.values
    },
    seen: ['a', 'b', 'a', 'b'],
    usually: ['a', 'b'],
  },
  {
    path: 'maxBufferedRecords',
    unusual: () => ({ maxBufferedRecords: 3 }),
    given: () => ({ maxPollRecords: 1 }),
    async observe(scene) {
      await blockFirst(scene)
      await (await scene.start()).write(Array.from({ length: 20 }, (_, at) => `${at}`))
      return scene.partition?.buffered
    },
    seen: 3,
    usually: 19,
  },
  {
    path: 'maxBufferedBytes',
    unusual: () => ({ maxBufferedBytes: 2 * kilobyte }),
    given: () => ({ maxPollRecords: 1 }),
    async observe(scene) {
      await blockFirst(scene)
      await (await scene.start()).write(Array.from({ length: 20 }, () => 'x'.repeat(kilobyte)))
      return scene.partition?.buffered
    },
    seen: 1,
    usually: 19,
  },
  {
    path: 'maxBatchBytes',
    unusual: () => ({ maxBatchBytes: mebibyte }),
    async observe(scene) {
      await writePacked(scene)
      await scene.start()
      await scene.sleep(10_000)
      return [scene.values.length, scene.bus.health().status]
    },
    seen: [0, 'DOWN'],
    usually: [1, 'UP'],
  },
  {
    path: 'oversizedBatch',
    unusual: () => ({ oversizedBatch: 'DEAD_LETTER' }),
    given: () => ({ maxBatchBytes: mebibyte }),
    async observe(scene) {
      await writePacked(scene)
      await scene.start()
      await scene.sleep(10_000)
      return [scene.dead(), scene.bus.health().status]
    },
    seen: [1, 'UP'],
    usually: [0, 'DOWN'],
  },
]
