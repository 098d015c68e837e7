/** Effects of the options of the circuit breaker. */

import type { EffectScene, OptionEffect } from './option-effect.ts'

const hourMs = 3_600_000
const given = (circuitBreaker: object = {}) => ({
  retry: { tier0: { maxAttempts: 1 }, tiers: [] },
  circuitBreaker: { enabled: true, ...circuitBreaker },
})
const many = (value: string, count: number): string[] => Array.from({ length: count }, () => value)

/** Writes records, and returns the state of the breaker. */
async function stateAfter(scene: EffectScene, values: readonly string[], afterMs = 5_000): Promise<string> {
  await (await scene.start()).write(values, afterMs)
  return breakerOf(scene)
}

function breakerOf({ bus }: EffectScene): string {
  return bus.admin.binding('shipping').breaker
}

/** Opens the breaker with failures, then lets every call be a probe that does not end. */
async function probing(scene: EffectScene, afterMs: number): Promise<EffectScene> {
  let isProbe = false
  scene.behave = () => {
    if (!isProbe) throw new Error('failed')
    return scene.sleep(hourMs)
  }
  await (await scene.start()).write(many('bad', 10))
  isProbe = true
  return scene.write(many('probe', 20), afterMs)
}

export const breakerEffects: readonly OptionEffect[] = [
  {
    path: 'circuitBreaker.enabled',
    unusual: () => ({ circuitBreaker: { enabled: true } }),
    given: () => ({ retry: { tier0: { maxAttempts: 1 }, tiers: [] } }),
    observe: (scene) => stateAfter(scene, many('bad', 20)),
    seen: 'OPEN',
    usually: 'CLOSED',
  },
  {
    path: 'circuitBreaker.failureRateThreshold',
    unusual: () => ({ circuitBreaker: { failureRateThreshold: 20 } }),
    given,
    observe: (scene) => stateAfter(scene, [...many('good', 15), ...many('bad', 5)]),
    seen: 'OPEN',
    usually: 'CLOSED',
  },
  {
    path: 'circuitBreaker.slowCallRateThreshold',
    unusual: () => ({ circuitBreaker: { slowCallRateThreshold: 20 } }),
    given,
    observe(scene) {
      scene.behave = (value) => (value === 'slow' ? scene.sleep(5_001) : undefined)
      return stateAfter(scene, [...many('fast', 15), ...many('slow', 5)], 40_000)
    },
    seen: 'OPEN',
    usually: 'CLOSED',
  },
  {
    path: 'circuitBreaker.slowCallDurationMs',
    unusual: () => ({ circuitBreaker: { slowCallDurationMs: 100 } }),
    given,
    observe(scene) {
      scene.behave = () => scene.sleep(200)
      return stateAfter(scene, many('slow', 10))
    },
    seen: 'OPEN',
    usually: 'CLOSED',
  },
  {
    path: 'circuitBreaker.waitDurationInOpenStateMs',
    unusual: () => ({ circuitBreaker: { waitDurationInOpenStateMs: 2_000 } }),
    given,
    observe: (scene) => stateAfter(scene, many('bad', 10), 30_000),
    seen: 'HALF_OPEN',
    usually: 'OPEN',
  },
  {
    path: 'circuitBreaker.slidingWindowSize',
    unusual: () => ({ circuitBreaker: { slidingWindowSize: 10 } }),
    given,
    observe: (scene) => stateAfter(scene, [...many('good', 30), ...many('bad', 6)]),
    seen: 'OPEN',
    usually: 'CLOSED',
  },
  {
    path: 'circuitBreaker.minimumNumberOfCalls',
    unusual: () => ({ circuitBreaker: { minimumNumberOfCalls: 3 } }),
    given,
    observe: (scene) => stateAfter(scene, many('bad', 3)),
    seen: 'OPEN',
    usually: 'CLOSED',
  },
  {
    path: 'circuitBreaker.permittedNumberOfCallsInHalfOpenState',
    unusual: () => ({ circuitBreaker: { permittedNumberOfCallsInHalfOpenState: 2 } }),
    given: () => ({ ...given(), parallelism: 'UNORDERED' }),
    observe: async (scene) => (await probing(scene, 61_000)).running,
    seen: 2,
    usually: 5,
  },
  {
    path: 'circuitBreaker.probeTimeoutMs',
    unusual: () => ({ circuitBreaker: { probeTimeoutMs: 7_000 } }),
    given: () => given({ permittedNumberOfCallsInHalfOpenState: 1 }),
    observe: async (scene) => breakerOf(await probing(scene, 70_000)),
    seen: 'OPEN',
    usually: 'HALF_OPEN',
  },
  {
    path: 'circuitBreaker.automaticPauseOnOpen',
    unusual: () => ({ circuitBreaker: { automaticPauseOnOpen: false } }),
    given,
    async observe(scene) {
      await stateAfter(scene, many('bad', 20))
      return scene.bus.getState('shipping')
    },
    seen: 'RUNNING',
    usually: 'PAUSED',
  },
]
