/** Effects of options that decide what becomes of a record that failed. */

import { deadLetter } from '@waybill/core'
import { topicRecords, topicValues } from '../../delivery/topic-records.ts'
import type { EffectScene, OptionEffect } from './option-effect.ts'

const hourMs = 3_600_000
const oneCall = { tier0: { maxAttempts: 1 }, tiers: [] }

/** Writes a record that fails, and returns how often its handler was called. */
async function callsOfBad(scene: EffectScene, afterMs = 5_000): Promise<number> {
  return (await (await scene.start()).write(['bad'], afterMs)).callsOf('bad')
}

/** Writes a record that fails, and returns the first waits between its calls in whole seconds. */
async function waitsOfBad(scene: EffectScene, count: number): Promise<number[]> {
  await (await scene.start()).write(['bad'], 300_000)
  return scene
    .gaps()
    .slice(0, count)
    .map((seconds) => Math.round(seconds))
}

/** Returns where a failed record goes: its first tier, or the dead letters. */
async function destination(scene: EffectScene): Promise<string | undefined> {
  await (await scene.start()).write(['bad'])
  const topics = await scene.topics()
  return topics.find((topic) => topicValues(scene.world.sim, topic).length > 0)
}

/** Waits without jitter would be exact; half of them is jitter at most. */
const isAbout = (seconds: number | undefined, expected: number): boolean =>
  seconds !== undefined && seconds > expected / 3 && seconds <= expected * 1.5

const blocking = { failureProfile: 'BLOCKING_UNLIMITED', retry: { tier0: { maxAttempts: 1 } } } as const

export const failureEffects: readonly OptionEffect[] = [
  {
    path: 'redactErrors',
    unusual: () => ({ redactErrors: (text) => text.replaceAll('secret', '***') }),
    given: () => ({ retry: oneCall }),
    async observe(scene) {
      await callsOfBad(scene)
      const [letter] = topicRecords(scene.world.sim, 'orders.DLT')
      return letter?.headers.text('x-eventbus-last-exception-message')
    },
    seen: 'a *** of the record',
    usually: 'a secret of the record',
  },
  {
    path: 'handlerTimeoutMs',
    unusual: () => ({ handlerTimeoutMs: 1_000 }),
    given: () => ({ retry: oneCall }),
    async observe(scene) {
      scene.behave = () => scene.sleep(hourMs)
      await (await scene.start()).write(['a'])
      return scene.dead()
    },
    seen: 1,
    usually: 0,
  },
  {
    path: 'expectedHandlerMs',
    unusual: () => ({ expectedHandlerMs: 60_000 }),
    async observe(scene) {
      await scene.start()
      return scene.world.logger.lines.filter(({ text }) => JSON.stringify(text).includes('expectedHandlerMs')).length
    },
    seen: 1,
    usually: 0,
  },
  {
    path: 'failureProfile',
    unusual: () => ({ failureProfile: 'BEST_EFFORT_SKIP' }),
    given: () => ({ retry: { tier0: { maxAttempts: 1 } } }),
    async observe(scene) {
      await callsOfBad(scene)
      return [scene.world.metrics.total('eventbus.records.skipped'), (await scene.topics()).length]
    },
    seen: [1, 1],
    usually: [0, 4],
  },
  {
    path: 'strictExhaustion',
    unusual: () => ({ strictExhaustion: 'PAUSE_PARTITION' }),
    given: () => ({ orderingMode: 'STRICT' }),
    async observe(scene) {
      await callsOfBad(scene)
      return [scene.partition?.pausedBy, scene.dead()]
    },
    seen: [['EXHAUSTED'], 0],
    usually: [[], 1],
  },
  {
    path: 'budgetExceededRouting',
    unusual: () => ({ budgetExceededRouting: 'NEXT_TIER' }),
    given: () => ({ maxPollIntervalMs: 20_000, maxPollRecords: 1, retry: { tiers: [{ delayMs: hourMs }] } }),
    async observe(scene) {
      scene.behave = async () => {
        await scene.sleep(13_950)
        throw new Error('slow and failed')
      }
      await (await scene.start()).write(['bad'], 60_000)
      return ['orders.retry-1', 'orders.DLT'].map((topic) => topicValues(scene.world.sim, topic).length)
    },
    seen: [1, 0],
    usually: [0, 1],
  },
  {
    path: 'batchFailureStrategy',
    unusual: () => ({ batchFailureStrategy: 'DLQ_AND_CONTINUE' }),
    given: () => ({ listenerType: 'BATCH', retry: oneCall }),
    observe: callsOfBad,
    seen: 1,
    usually: 3,
  },
  {
    path: 'batchMaxRedeliveries',
    unusual: () => ({ batchMaxRedeliveries: 5 }),
    given: () => ({ listenerType: 'BATCH', retry: oneCall }),
    observe: (scene) => callsOfBad(scene, 60_000),
    seen: 5,
    usually: 3,
  },
  {
    path: 'retryTopicNaming',
    unusual: () => ({ retryTopicNaming: 'PER_GROUP' }),
    given: () => ({ retry: { tiers: [{ delayMs: 100 }] } }),
    observe: async (scene) => (await scene.start()).topics(),
    seen: ['orders.g.DLT', 'orders.g.retry-1'],
    usually: ['orders.DLT', 'orders.retry-1'],
  },
  {
    path: 'derivedPartitions',
    unusual: () => ({ derivedPartitions: 5 }),
    partitions: 2,
    async observe(scene) {
      await scene.start()
      const views = await scene.world.client.admin.describeTopics(['orders.DLT', 'orders.retry-1'])
      return views.map((view) => (view.outcome === 'DONE' ? view.partitions.length : view.outcome))
    },
    seen: [5, 5],
    usually: [2, 2],
  },
  {
    path: 'retry.tier0.maxAttempts',
    unusual: () => ({ retry: { tier0: { maxAttempts: 5 } } }),
    given: () => ({ retry: { tiers: [] } }),
    observe: callsOfBad,
    seen: 5,
    usually: 3,
  },
  {
    path: 'retry.tier0.initialBackoffMs',
    unusual: () => ({ retry: { tier0: { initialBackoffMs: 10_000 } } }),
    given: () => ({ retry: { tiers: [], tier0: { maxAttempts: 2, maxBackoffMs: 60_000 } }, maxPollRecords: 1 }),
    observe: async (scene) => isAbout((await waitsOfBad(scene, 1))[0], 10),
    seen: true,
    usually: false,
  },
  {
    path: 'retry.tier0.multiplier',
    unusual: () => ({ retry: { tier0: { multiplier: 100 } } }),
    given: () => ({ retry: { tiers: [], tier0: { maxAttempts: 3, maxBackoffMs: 60_000 } }, maxPollRecords: 1 }),
    observe: async (scene) => isAbout((await waitsOfBad(scene, 2))[1], 10),
    seen: true,
    usually: false,
  },
  {
    path: 'retry.tier0.maxBackoffMs',
    unusual: () => ({ retry: { tier0: { maxBackoffMs: 60_000 } } }),
    given: () => ({ retry: { tiers: [], tier0: { maxAttempts: 2, initialBackoffMs: 20_000 } }, maxPollRecords: 1 }),
    observe: async (scene) => isAbout((await waitsOfBad(scene, 1))[0], 20),
    seen: true,
    usually: false,
  },
  {
    path: 'retry.tiers[].delayMs',
    unusual: () => ({ retry: { tiers: [{ delayMs: 90_000 }] } }),
    given: () => ({ retry: { tier0: { maxAttempts: 1 }, tiers: [{}] } }),
    observe: async (scene) => Math.floor((await waitsOfBad(scene, 1))[0] ?? 0),
    seen: 90,
    usually: 10,
  },
  {
    path: 'retry.tiers[].maxAttempts',
    unusual: () => ({ retry: { tiers: [{ delayMs: 100, maxAttempts: 5 }] } }),
    given: () => ({ retry: { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 100 }] } }),
    async observe(scene) {
      await callsOfBad(scene, 60_000)
      return scene.callsOf('bad', 1)
    },
    seen: 5,
    usually: 3,
  },
  {
    path: 'retry.tiers[].topicSuffix',
    unusual: () => ({ retry: { tiers: [{ delayMs: 100, topicSuffix: 'soon' }] } }),
    given: () => ({ retry: { tiers: [{ delayMs: 100 }] } }),
    observe: async (scene) => (await scene.start()).topics(),
    seen: ['orders.DLT', 'orders.soon'],
    usually: ['orders.DLT', 'orders.retry-1'],
  },
  {
    path: 'retry.tiers[].concurrency',
    unusual: () => ({ retry: { tiers: [{ delayMs: 100, concurrency: 2 }] } }),
    given: () => ({ retry: { tiers: [{ delayMs: 100 }] } }),
    observe: async (scene) => (await scene.start()).world.sim.group('g-retry-1').members.length,
    seen: 2,
    usually: 1,
  },
  {
    path: 'retry.blocking.initialBackoffMs',
    unusual: () => ({ retry: { blocking: { initialBackoffMs: 20_000 } } }),
    given: () => blocking,
    observe: async (scene) => isAbout((await waitsOfBad(scene, 1))[0], 20),
    seen: true,
    usually: false,
  },
  {
    path: 'retry.blocking.multiplier',
    unusual: () => ({ retry: { blocking: { multiplier: 20 } } }),
    given: () => blocking,
    observe: async (scene) => isAbout((await waitsOfBad(scene, 2))[1], 20),
    seen: true,
    usually: false,
  },
  {
    path: 'retry.blocking.maxBackoffMs',
    unusual: () => ({ retry: { blocking: { maxBackoffMs: 2_000 } } }),
    given: () => blocking,
    observe: async (scene) => (await callsOfBad(scene, 300_000)) > 100,
    seen: true,
    usually: false,
  },
  {
    path: 'retry.retryableExceptions',
    unusual: () => ({ retry: { retryableExceptions: ['TimeoutError'] } }),
    observe: destination,
    seen: 'orders.DLT',
    usually: 'orders.retry-1',
  },
  {
    path: 'retry.nonRetryableExceptions',
    unusual: () => ({ retry: { nonRetryableExceptions: ['RangeError'] } }),
    observe: destination,
    seen: 'orders.DLT',
    usually: 'orders.retry-1',
  },
  {
    path: 'retry.skipToTierMapping',
    unusual: () => ({ retry: { skipToTierMapping: { RangeError: 2 } } }),
    observe: destination,
    seen: 'orders.retry-2',
    usually: 'orders.retry-1',
  },
  {
    path: 'retry.classifier',
    unusual: () => ({ retry: { classifier: () => deadLetter() } }),
    observe: destination,
    seen: 'orders.DLT',
    usually: 'orders.retry-1',
  },
]
