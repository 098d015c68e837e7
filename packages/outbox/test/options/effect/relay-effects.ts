/** Effects of the options of modes that deliver from the table, and of writing. */

import { beforeDispatch, exponentialRetry } from '@waybill/outbox'
import type { OutboxEffect, OutboxScene } from './outbox-scene.ts'

const everyMode = 'Every mode'
const relay = 'Every mode that delivers'
const pool = 'Concurrent delivery'
const hourMs = 3_600_000

interface PurgeCall {
  readonly limit: number
  readonly archive?: boolean
}
interface Query {
  readonly limit: number
  readonly maxBytes: number
}

/** Rows of an event that is done, or dead without a listener, some time later. */
const rowsLater = (eventType?: string) => async (scene: OutboxScene) => {
  await (await scene.start()).add(1, 30_000, eventType)
  return scene.rows.length
}

/** The largest limits of a read. */
const pollQuery = async (scene: OutboxScene): Promise<Query> => {
  await scene.start(20_000)
  const queries = scene.given<Query>('pollPending', 0)
  const most = (name: keyof Query): number => Math.max(...queries.map((query) => query[name]))
  return { limit: most('limit'), maxBytes: most('maxBytes') }
}

/** Attempts of an event that always fails. */
const attempts = async (scene: OutboxScene): Promise<number> => {
  await scene.failing().add(1)
  await scene.start(2 * hourMs)
  return scene.delivered.length
}

function interceptorCase(): OutboxEffect {
  let seen = 0
  return {
    section: relay,
    path: 'interceptors',
    mode: 'singleNode',
    unusual: { interceptors: [beforeDispatch(() => void seen++)] },
    async observe(scene) {
      seen = 0
      await (await scene.start()).add(1, 10_000)
      return seen
    },
    seen: 1,
    usually: 0,
  }
}

const firstPurge = async (scene: OutboxScene): Promise<PurgeCall | undefined> => {
  await (await scene.start()).add(1, 30_000)
  return scene.given<PurgeCall>('purge', 0)[0]
}

/** The options of purging, which modes share. */
export function purgeEffects(section: string, mode: 'singleNode' | 'leasing'): readonly OutboxEffect[] {
  const of = { section, mode } as const
  const soon = { purge: { intervalMs: 1_000 } }
  return [
    {
      ...of,
      path: 'purge.doneAfterMs',
      given: soon,
      unusual: { purge: { doneAfterMs: 1_000 } },
      observe: rowsLater(),
      seen: 0,
      usually: 1,
    },
    {
      ...of,
      path: 'purge.deadAfterMs',
      given: soon,
      unusual: { purge: { deadAfterMs: 1_000 } },
      observe: rowsLater('no.listener'),
      seen: 0,
      usually: 1,
    },
    {
      ...of,
      path: 'purge.archive',
      given: soon,
      unusual: { purge: { archive: true } },
      observe: async (scene) => (await firstPurge(scene))?.archive === true,
      seen: true,
      usually: false,
    },
    {
      ...of,
      path: 'purge.batchSize',
      given: soon,
      unusual: { purge: { batchSize: 7 } },
      observe: async (scene) => (await firstPurge(scene))?.limit,
      seen: 7,
      usually: 500,
    },
    {
      ...of,
      path: 'purge.intervalMs',
      given: { purge: {} },
      unusual: { purge: { intervalMs: 2_000 } },
      async observe(scene) {
        await scene.start(120_000)
        return scene.calls.filter(({ name }) => name === 'purge').length > 20
      },
      seen: true,
      usually: false,
    },
  ]
}

export const relayEffects: readonly OutboxEffect[] = [
  {
    section: everyMode,
    path: 'metricsPrefix',
    mode: 'singleNode',
    unusual: { metricsPrefix: 'mail' },
    async observe(scene) {
      await (await scene.start()).write(1, 1_000)
      return ['mail', 'outbox'].map((prefix) => scene.harness.metrics.total(`${prefix}.enqueue.hot`))
    },
    seen: [1, 0],
    usually: [0, 1],
  },
  interceptorCase(),
  {
    section: relay,
    path: 'unroutable',
    mode: 'singleNode',
    unusual: { unroutable: 'RETRY' },
    async observe(scene) {
      await (await scene.start()).add(1, 10_000, 'no.listener')
      return scene.rowStatus()
    },
    seen: 'RETRY',
    usually: 'DEAD',
  },
  {
    section: relay,
    path: 'whenDone',
    mode: 'singleNode',
    unusual: { whenDone: 'DELETE' },
    observe: rowsLater(),
    seen: 0,
    usually: 1,
  },
  ...purgeEffects(relay, 'singleNode'),
  {
    section: relay,
    path: 'intervalMs',
    mode: 'singleNode',
    unusual: { intervalMs: 60_000 },
    async observe(scene) {
      await scene.start(10_000)
      return (await scene.add(1, 20_000)).delivered.length
    },
    seen: 0,
    usually: 1,
  },
  {
    section: relay,
    path: 'batchSize',
    mode: 'singleNode',
    unusual: { batchSize: 3 },
    observe: async (scene) => (await pollQuery(scene)).limit,
    seen: 3,
    usually: 50,
  },
  {
    section: relay,
    path: 'maxBufferedBytes',
    mode: 'singleNode',
    unusual: { maxBufferedBytes: 65_536 },
    observe: async (scene) => (await pollQuery(scene)).maxBytes,
    seen: 8_192,
    usually: 8_388_608,
  },
  {
    section: relay,
    path: 'skipRecentMs',
    mode: 'singleNode',
    unusual: { skipRecentMs: hourMs },
    observe: async (scene) => (await (await scene.start()).add(1, 30_000)).delivered.length,
    seen: 0,
    usually: 1,
  },
  {
    section: relay,
    path: 'coldQueueCapacity',
    mode: 'singleNode',
    unusual: { coldQueueCapacity: 2 },
    observe: async (scene) => (await pollQuery(scene)).limit,
    seen: 2,
    usually: 50,
  },
  {
    section: relay,
    path: 'drainTimeoutMs',
    mode: 'singleNode',
    unusual: { drainTimeoutMs: 1_000 },
    async observe(scene) {
      const { clock } = scene.harness.runtime
      let abortedAt = 0
      scene.harness.behaviour = (_, { signal }) =>
        new Promise((resolve) => {
          signal.addEventListener('abort', () => {
            abortedAt = clock.monotonic()
            resolve()
          })
        })
      await (await scene.start()).write(1, 1_000)
      const stoppedAt = clock.monotonic()
      await scene.outbox.stop()
      return (abortedAt - stoppedAt) / 1_000
    },
    seen: 1,
    usually: 5,
  },
  {
    section: relay,
    path: 'inFlightTtlMs',
    mode: 'singleNode',
    unusual: { inFlightTtlMs: 2_000 },
    async observe(scene) {
      await (await scene.hanging().start()).add(1, 60_000)
      return scene.delivered.length > 1
    },
    seen: true,
    usually: false,
  },
  {
    section: relay,
    path: 'stallAfterMs',
    mode: 'singleNode',
    unusual: { stallAfterMs: 1_000 },
    async observe(scene) {
      await (await scene.hanging().start()).add(10, 60_000)
      return scene.outbox.health().status
    },
    seen: 'DOWN',
    usually: 'UP',
  },
  {
    section: pool,
    path: 'workerCount',
    mode: 'singleNode',
    unusual: { workerCount: 2 },
    async observe(scene) {
      await (await scene.hanging().start()).add(10, 20_000)
      return scene.running
    },
    seen: 2,
    usually: 4,
  },
  {
    section: pool,
    path: 'maxAttempts',
    mode: 'singleNode',
    unusual: { maxAttempts: 2 },
    observe: attempts,
    seen: 2,
    usually: 10,
  },
  {
    section: pool,
    path: 'retry',
    mode: 'singleNode',
    unusual: { retry: exponentialRetry({ maxAttempts: 3 }) },
    observe: attempts,
    seen: 3,
    usually: 10,
  },
  {
    section: pool,
    path: 'hotQueueCapacity',
    mode: 'singleNode',
    unusual: { hotQueueCapacity: 2 },
    async observe(scene) {
      await (await scene.hanging().start()).write(10, 100)
      return scene.harness.metrics.total('outbox.enqueue.hot') < 10
    },
    seen: true,
    usually: false,
  },
  {
    section: pool,
    path: 'hook',
    mode: 'singleNode',
    unusual: { hook: { beforeWrite: () => null } },
    async observe(scene) {
      await (await scene.start()).write(1, 100)
      return scene.rows.length
    },
    seen: 0,
    usually: 1,
  },
]
