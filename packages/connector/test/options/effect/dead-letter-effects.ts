/** Effects of options that decide about dead letters. */

import type { DeadLetterOptions } from '../../../src/api/binding.ts'
import { topicValues } from '../../delivery/topic-records.ts'
import type { EffectScene, Given, OptionEffect } from './option-effect.ts'

const hourMs = 3_600_000
const retry = { tier0: { maxAttempts: 1 }, tiers: [] }
const given = (): Given => ({ retry })
/** Replays as soon and as often as it may, but for what a case sets. */
const scheduled =
  (replay: DeadLetterOptions['replay'] = {}) =>
  (): Given => ({
    retry,
    dlt: { strategy: 'SCHEDULED_REPLAY', replay: { cooldownMs: 1, intervalMs: 1_000, ...replay } },
  })

/** Writes records that fail, and returns how often the handler was called. */
async function callsAfter(scene: EffectScene, values: readonly string[], afterMs: number): Promise<number> {
  return (await (await scene.start()).write(values, afterMs)).values.length
}

export const deadLetterEffects: readonly OptionEffect[] = [
  {
    path: 'dlt.topicSuffix',
    unusual: () => ({ dlt: { topicSuffix: 'dead' } }),
    given,
    observe: async (scene) => (await scene.start()).topics(),
    seen: ['orders.dead'],
    usually: ['orders.DLT'],
  },
  {
    path: 'dlt.topic',
    unusual: () => ({ dlt: { topic: 'graveyard' } }),
    given,
    observe: async (scene) => (await (await scene.start()).write(['bad'])).topics(''),
    seen: ['graveyard', 'orders'],
    usually: ['orders', 'orders.DLT'],
  },
  {
    path: 'dlt.strategy',
    unusual: () => ({ dlt: { strategy: 'SCHEDULED_REPLAY' } }),
    given,
    observe: (scene) => callsAfter(scene, ['bad'], 1.5 * hourMs),
    seen: 2,
    usually: 1,
  },
  {
    path: 'dlt.format',
    unusual: () => ({ dlt: { format: 'ENVELOPE' } }),
    given,
    async observe(scene) {
      await callsAfter(scene, ['bad'], 5_000)
      return topicValues(scene.world.sim, 'orders.DLT').map((value) => value.startsWith('{'))
    },
    seen: [true],
    usually: [false],
  },
  alertCase(),
  recordCase(),
  {
    path: 'dlt.replay.maxReplays',
    unusual: () => ({ dlt: { replay: { maxReplays: 1 } } }),
    given: scheduled(),
    observe: (scene) => callsAfter(scene, ['bad'], 120_000),
    seen: 2,
    usually: 4,
  },
  {
    path: 'dlt.replay.cooldownMs',
    unusual: () => ({ dlt: { replay: { cooldownMs: 60_000 } } }),
    given: () => ({ retry, dlt: { strategy: 'SCHEDULED_REPLAY', replay: { intervalMs: 1_000, maxReplays: 1 } } }),
    observe: (scene) => callsAfter(scene, ['bad'], 120_000),
    seen: 2,
    usually: 1,
  },
  {
    path: 'dlt.replay.batchSize',
    unusual: () => ({ dlt: { replay: { batchSize: 1 } } }),
    given: scheduled({ intervalMs: 60_000, maxReplays: 1 }),
    // After one run, whenever it comes.
    observe: (scene) => callsAfter(scene, ['bad 1', 'bad 2', 'bad 3'], 60_000),
    seen: 4,
    usually: 6,
  },
  {
    path: 'dlt.replay.intervalMs',
    unusual: () => ({ dlt: { replay: { intervalMs: 2_000 } } }),
    given: () => ({
      retry,
      dlt: { strategy: 'SCHEDULED_REPLAY', replay: { cooldownMs: 1, maxReplays: 1_000 } },
    }),
    observe: async (scene) => (await callsAfter(scene, ['bad'], 120_000)) > 20,
    seen: true,
    usually: false,
  },
  {
    path: 'dlt.replay.target',
    unusual: () => ({ dlt: { replay: { target: 'BINDING' } } }),
    given: () => ({
      ...scheduled({ maxReplays: 1 })(),
      retry: { tiers: [{ delayMs: hourMs }], nonRetryableExceptions: ['RangeError'] },
    }),
    async observe(scene) {
      await callsAfter(scene, ['bad'], 120_000)
      return ['orders', 'orders.retry-1'].map((topic) => topicValues(scene.world.sim, topic).length)
    },
    seen: [1, 1],
    usually: [2, 0],
  },
]

function alertCase(): OptionEffect {
  const alerts: string[] = []
  return {
    path: 'dlt.alertHandler',
    unusual: () => ({
      dlt: {
        strategy: 'ALERT_AND_STORE',
        alertHandler: { onDeadLetter: ({ value }) => void alerts.push(String(value)) },
      },
    }),
    given,
    async observe(scene) {
      alerts.length = 0
      await callsAfter(scene, ['bad'], 5_000)
      return [...alerts]
    },
    seen: ['bad'],
    usually: [],
  }
}

function recordCase(): OptionEffect {
  const handled: string[] = []
  return {
    path: 'dlt.recordHandler',
    unusual: () => ({
      dlt: { strategy: 'CUSTOM', recordHandler: { handle: ({ value }) => void handled.push(String(value)) } },
    }),
    given: () => ({ retry, dlt: { replay: { intervalMs: 1_000 } } }),
    async observe(scene) {
      handled.length = 0
      await callsAfter(scene, ['bad'], 5_000)
      return [...handled]
    },
    seen: ['bad'],
    usually: [],
  }
}
