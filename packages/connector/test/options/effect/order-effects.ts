/** Effects of options that decide on order, concurrency, marks and transactions. */

import { Buffer } from 'node:buffer'
import { TestInbox, TestStore } from '../../delivery/test-marks.ts'
import type { EffectScene, Given, OptionEffect } from './option-effect.ts'

const hourMs = 3_600_000
const byKey = { orderingMode: 'KEY', parallelism: 'KEY' } as const
/** A failed record waits in its tier for longer than the observation takes. */
const waiting = { ...byKey, retry: { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: hourMs }] } }
const numbers = (count: number): string[] => Array.from({ length: count }, (_, at) => `${at}`)
const onlyOnce = () => 'the only key'

async function untilBlocked(scene: EffectScene, values: readonly string[]): Promise<EffectScene> {
  scene.behave = () => scene.sleep(hourMs)
  return (await scene.start()).write(values)
}

/** Outputs of 1,500 bytes for each of four records that are handled at once. */
const sending = (bytes: number): Given => ({
  handler: (_, context) => context.send({ topic: 'out', key: null, value: Buffer.alloc(bytes) }),
})

async function ended(scene: EffectScene): Promise<number> {
  scene.world.sim.createTopic('out')
  await scene.write(numbers(4))
  await scene.start()
  await scene.sleep(10_000)
  const { requests } = scene
  const outputs = requests.of('EndTxn').filter(({ committed }) => committed)
  return outputs.length
}

export const orderEffects: readonly OptionEffect[] = [
  {
    path: 'orderingMode',
    unusual: () => ({ orderingMode: 'STRICT' }),
    observe: async (scene) => (await scene.start()).topics(),
    seen: ['orders.DLT'],
    usually: ['orders.DLT', 'orders.retry-1', 'orders.retry-2', 'orders.retry-3'],
  },
  {
    path: 'parallelism',
    unusual: () => ({ parallelism: 'KEY' }),
    observe: async (scene) => (await untilBlocked(scene, ['a', 'b', 'c', 'a'])).running,
    seen: 3,
    usually: 1,
  },
  {
    path: 'maxInFlight',
    unusual: () => ({ maxInFlight: 2 }),
    given: () => ({ parallelism: 'UNORDERED' }),
    observe: async (scene) => (await untilBlocked(scene, numbers(5))).running,
    seen: 2,
    usually: 5,
  },
  {
    path: 'maxAhead',
    unusual: () => ({ maxAhead: 4 }),
    given: () => ({ parallelism: 'UNORDERED' }),
    async observe(scene) {
      scene.behave = (value) => (value === '0' ? scene.sleep(hourMs) : undefined)
      return (await (await scene.start()).write(numbers(20))).values.length
    },
    seen: 4,
    usually: 20,
  },
  {
    path: 'keyOrder.onDeadKey',
    unusual: () => ({ keyOrder: { onDeadKey: 'BLOCK' } }),
    given: () => ({ ...byKey, retry: { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 100, maxAttempts: 1 }] } }),
    observe: async (scene) => (await (await scene.start()).write(['bad x', 'x'])).callsOf('x'),
    seen: 0,
    usually: 1,
  },
  {
    path: 'keyOrder.maxWaitingRecords',
    unusual: () => ({ keyOrder: { maxWaitingRecords: 2 } }),
    given: () => waiting,
    observe: async (scene) => (await (await scene.start()).write(['bad x', 'x', 'x', 'x', 'x'])).partition?.pausedBy,
    seen: ['WAITING_FULL'],
    usually: [],
  },
  {
    path: 'keyOrder.maxWaitingBytes',
    unusual: () => ({ keyOrder: { maxWaitingBytes: 200 } }),
    given: () => waiting,
    observe: async (scene) => (await (await scene.start()).write(['bad x', 'x', 'x', 'x', 'x'])).partition?.pausedBy,
    seen: ['WAITING_FULL'],
    usually: [],
  },
  {
    path: 'deduplicate.store',
    unusual: () => ({ deduplicate: { store: new TestStore(), key: onlyOnce } }),
    observe: async (scene) => (await (await scene.start()).write(['a', 'b'])).values,
    seen: ['a'],
    usually: ['a', 'b'],
  },
  {
    path: 'deduplicate.inbox',
    unusual: () => ({ deduplicate: { inbox: new TestInbox(), key: onlyOnce } }) as unknown as Given,
    observe: async (scene) => (await (await scene.start()).write(['a', 'b'])).values,
    seen: ['a'],
    usually: ['a', 'b'],
  },
  {
    path: 'deduplicate.key',
    unusual: () => ({ deduplicate: { key: onlyOnce } }) as unknown as Given,
    given: () => ({ deduplicate: { store: new TestStore() } }),
    observe: async (scene) => (await (await scene.start()).write(['a', 'b'])).values,
    seen: ['a'],
    usually: ['a', 'b'],
  },
  {
    path: 'transactional.maxRecords',
    unusual: () => ({ transactional: { maxRecords: 1 } }),
    given: () => ({ transactional: {}, ...sending(10) }),
    observe: ended,
    seen: 4,
    // The first one holds what is there when it is opened.
    usually: 2,
  },
  {
    path: 'transactional.maxBytes',
    unusual: () => ({ transactional: { maxBytes: 4_000 } }),
    given: () => ({ transactional: {}, ...sending(1_500) }),
    observe: ended,
    seen: 3,
    usually: 2,
  },
  {
    path: 'transactional.maxRecordBytes',
    unusual: () => ({ transactional: { maxRecordBytes: 1_000 } }),
    given: () => ({ transactional: {}, retry: { tiers: [] }, ...sending(1_500) }),
    async observe(scene) {
      await ended(scene)
      return scene.world.metrics.total('eventbus.records.dlq')
    },
    seen: 4,
    usually: 0,
  },
  {
    path: 'transactional.timeoutMs',
    unusual: () => ({ transactional: { timeoutMs: 77_000 } }),
    given: () => ({ transactional: {} }),
    async observe(scene) {
      await (await scene.start()).write(['a'])
      const transactions = scene.requests.of('InitProducerId').filter(({ transactionalId }) => transactionalId !== null)
      return [...new Set(transactions.map(({ transactionTimeoutMs }) => transactionTimeoutMs))]
    },
    seen: [77_000],
    usually: [30_000],
  },
  {
    path: 'shutdownTimeoutMs',
    unusual: () => ({ shutdownTimeoutMs: 2_000 }),
    async observe(scene) {
      await untilBlocked(scene, ['a'])
      const stoppedAt = scene.now
      await scene.bus.stop('shipping').catch(() => {})
      return scene.now - stoppedAt <= 2_000
    },
    seen: true,
    usually: false,
  },
]
