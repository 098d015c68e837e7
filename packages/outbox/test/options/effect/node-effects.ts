/** Effects of the options of modes in which several nodes share a table, and of writing alone. */

import type { WakeUp } from '@waybill/outbox'
import type { OutboxEffect, OutboxScene } from './outbox-scene.ts'
import { purgeEffects } from './relay-effects.ts'

const multiNode = 'Outbox.multiNode'
const keyed = 'Outbox.keyed'
const leasing = 'Outbox.leasing'
const writerOnly = 'Outbox.writerOnly'

interface Lease {
  readonly owner: string
  readonly timeoutMs: number
}

const firstClaim = async (scene: OutboxScene): Promise<Lease | undefined> => {
  await scene.add(1)
  await scene.start(20_000)
  return scene.given<Lease>('claimPending', 0)[0]
}

/** The owner and the timeout with which shards are taken. */
const takenShards = async (scene: OutboxScene): Promise<readonly [string | undefined, number | undefined]> => {
  await scene.start(5_000)
  const taken = scene.calls.find(
    ({ name, given }) => name === 'takeShards' && (given[1] as number[]).some((one) => one >= 0),
  )
  return [taken?.given[0] as string | undefined, taken?.given[2] as number | undefined]
}

const readLimit = async (scene: OutboxScene): Promise<number | undefined> => {
  await scene.start(10_000)
  return scene.given<{ readonly limit: number }>('readShards', 0).at(-1)?.limit
}

/** Listens, and never signals. */
function wakeUpCase(section: string, mode: 'multiNode' | 'keyed'): OutboxEffect {
  let listens = 0
  const wakeUp: WakeUp = {
    announce: async () => {},
    async listen() {
      listens++
      return { [Symbol.asyncDispose]: async () => {} }
    },
  }
  return {
    section,
    path: 'wakeUp',
    mode,
    unusual: { wakeUp },
    async observe(scene) {
      listens = 0
      await scene.start(1_000)
      return listens
    },
    seen: 1,
    usually: 0,
  }
}

/** Delivers events one at a time, of which some fail or are slow, and returns the states of the breaker. */
const breakerStates =
  (outcomes: string, afterMs = 5_000) =>
  (scene: OutboxScene): Promise<readonly string[]> =>
    scene.watchBreaker(async () => {
      const { harness } = scene
      harness.behaviour = async ({ eventId }) => {
        const outcome = outcomes[Number(eventId.slice('event-'.length))] ?? 'g'
        if (outcome === 's') await scene.sleep(5_001)
        if (outcome === 'f') await scene.sleep(200)
        if (outcome === 'b') throw new Error('no')
        if (outcome === 'h') await new Promise(() => {})
      }
      scene.addOfOneKey(outcomes.length)
      await scene.start(afterMs)
    })

const bad = 'b'.repeat(10)
const breaker = (
  path: string,
  unusual: object,
  rest: Pick<OutboxEffect, 'observe' | 'seen' | 'usually'>,
): OutboxEffect => ({
  section: keyed,
  path: `breaker.${path}`,
  mode: 'keyed',
  given: { breaker: { enabled: true }, workerCount: 1, maxAttempts: 1 },
  unusual: { breaker: unusual },
  ...rest,
})

const breakerEffects: readonly OutboxEffect[] = [
  {
    section: keyed,
    path: 'breaker.enabled',
    mode: 'keyed',
    given: { breaker: {}, workerCount: 1, maxAttempts: 1 },
    unusual: { breaker: { enabled: false } },
    observe: breakerStates(bad),
    seen: [],
    usually: ['OPEN'],
  },
  breaker(
    'failureRateThreshold',
    { failureRateThreshold: 20 },
    {
      observe: breakerStates(`${'g'.repeat(15)}bbbbb`),
      seen: ['OPEN'],
      usually: [],
    },
  ),
  breaker(
    'slowCallRateThreshold',
    { slowCallRateThreshold: 20 },
    {
      observe: breakerStates(`${'g'.repeat(15)}sssss`, 40_000),
      seen: ['OPEN'],
      usually: [],
    },
  ),
  breaker(
    'slowCallDurationMs',
    { slowCallDurationMs: 100 },
    {
      observe: breakerStates('f'.repeat(10)),
      seen: ['OPEN'],
      usually: [],
    },
  ),
  breaker(
    'waitDurationInOpenStateMs',
    { waitDurationInOpenStateMs: 2_000 },
    {
      observe: breakerStates(bad),
      seen: ['OPEN', 'HALF_OPEN'],
      usually: ['OPEN'],
    },
  ),
  breaker(
    'slidingWindowSize',
    { slidingWindowSize: 10 },
    {
      observe: breakerStates(`${'g'.repeat(30)}bbbbbb`),
      seen: ['OPEN'],
      usually: [],
    },
  ),
  breaker(
    'minimumNumberOfCalls',
    { minimumNumberOfCalls: 3 },
    {
      observe: breakerStates('bbb'),
      seen: ['OPEN'],
      usually: [],
    },
  ),
  breaker(
    'permittedNumberOfCallsInHalfOpenState',
    { permittedNumberOfCallsInHalfOpenState: 2 },
    {
      observe: breakerStates(`${bad}gg`, 70_000),
      seen: ['OPEN', 'HALF_OPEN', 'CLOSED'],
      usually: ['OPEN', 'HALF_OPEN'],
    },
  ),
  breaker(
    'probeTimeoutMs',
    { probeTimeoutMs: 7_000, permittedNumberOfCallsInHalfOpenState: 1 },
    {
      observe: breakerStates(`${bad}h`, 75_000),
      seen: ['OPEN', 'HALF_OPEN', 'OPEN'],
      usually: ['OPEN', 'HALF_OPEN'],
    },
  ),
]

export const nodeEffects: readonly OutboxEffect[] = [
  {
    section: multiNode,
    path: 'claimLocking.owner',
    mode: 'multiNode',
    unusual: { claimLocking: { owner: 'mine' } },
    observe: async (scene) => (await firstClaim(scene))?.owner.slice(0, 4),
    seen: 'mine',
    usually: 'poll',
  },
  {
    section: multiNode,
    path: 'claimLocking.timeoutMs',
    mode: 'multiNode',
    unusual: { claimLocking: { timeoutMs: 77_000 } },
    observe: async (scene) => (await firstClaim(scene))?.timeoutMs,
    seen: 77_000,
    usually: 30_000,
  },
  wakeUpCase(multiNode, 'multiNode'),
  {
    section: keyed,
    path: 'intervalMs',
    mode: 'keyed',
    unusual: { intervalMs: 30_000 },
    async observe(scene) {
      await scene.start(10_000)
      return (await scene.add(1, 2_000)).delivered.length
    },
    seen: 0,
    usually: 1,
  },
  {
    section: keyed,
    path: 'batchSize',
    mode: 'keyed',
    unusual: { batchSize: 3 },
    observe: readLimit,
    seen: 3,
    usually: 7,
  },
  {
    section: keyed,
    path: 'claimLocking.owner',
    mode: 'keyed',
    unusual: { claimLocking: { owner: 'mine' } },
    observe: async (scene) => (await takenShards(scene))[0]?.slice(0, 4),
    seen: 'mine',
    usually: 'node',
  },
  {
    section: keyed,
    path: 'claimLocking.timeoutMs',
    mode: 'keyed',
    unusual: { claimLocking: { timeoutMs: 77_000 } },
    observe: async (scene) => (await takenShards(scene))[1],
    seen: 77_000,
    usually: 30_000,
  },
  {
    section: keyed,
    path: 'onDeadKey',
    mode: 'keyed',
    given: { maxAttempts: 1 },
    unusual: { onDeadKey: 'BLOCK' },
    async observe(scene) {
      scene.harness.behaviour = async ({ eventId }) => {
        if (eventId === 'event-0') throw new Error('no')
      }
      scene.addOfOneKey(2)
      await scene.start(20_000)
      return scene.delivered
    },
    seen: ['event-0'],
    usually: ['event-0', 'event-1'],
  },
  {
    section: keyed,
    path: 'maxBuffered',
    mode: 'keyed',
    unusual: { maxBuffered: 64 },
    async observe(scene) {
      await scene.hanging().add(2_000)
      await scene.start(30_000)
      const held = scene.harness.metrics.latest('outbox.keyed.buffered') ?? 0
      return held < 1_000
    },
    seen: true,
    usually: false,
  },
  {
    section: keyed,
    path: 'maxHeldKeys',
    mode: 'keyed',
    unusual: { maxHeldKeys: 3 },
    async observe(scene) {
      await scene.failing().add(20)
      await scene.start(20_000)
      return scene.harness.metrics.latest('outbox.keyed.saturated')
    },
    seen: 1,
    usually: 0,
  },
  wakeUpCase(keyed, 'keyed'),
  ...breakerEffects,
  ...purgeEffects(leasing, 'leasing'),
  {
    section: leasing,
    path: 'intervalMs',
    mode: 'leasing',
    unusual: { intervalMs: 60_000 },
    async observe(scene) {
      await scene.start(10_000)
      return (await scene.add(1, 10_000)).delivered.length
    },
    seen: 0,
    usually: 1,
  },
  {
    section: leasing,
    path: 'batchSize',
    mode: 'leasing',
    unusual: { batchSize: 100 },
    observe: readLimit,
    seen: 1,
    usually: 3,
  },
  {
    section: leasing,
    path: 'breaker',
    mode: 'leasing',
    given: { maxAttempts: 1, maxInFlight: 1 },
    unusual: { breaker: false },
    observe: breakerStates('bbbbb'),
    seen: [],
    usually: ['OPEN'],
  },
  {
    section: leasing,
    path: 'instanceCount',
    mode: 'leasing',
    unusual: { instanceCount: 2 },
    observe: async (scene) => shardsTaken(await scene.start(5_000)).length,
    seen: 32,
    usually: 64,
  },
  {
    section: leasing,
    path: 'instanceId',
    mode: 'leasing',
    given: { instanceCount: 2 },
    unusual: { instanceId: 1 },
    observe: async (scene) => shardsTaken(await scene.start(5_000)).includes(0),
    seen: false,
    usually: true,
  },
  {
    section: leasing,
    path: 'maxInFlight',
    mode: 'leasing',
    unusual: { maxInFlight: 2 },
    async observe(scene) {
      await scene.hanging().add(50)
      await scene.start(10_000)
      return scene.running
    },
    seen: 2,
    usually: 16,
  },
  {
    section: writerOnly,
    path: 'purge.afterMs',
    mode: 'writerOnly',
    given: { purge: { intervalMs: 1_000 } },
    unusual: { purge: { afterMs: 1_000 } },
    async observe(scene) {
      await (await scene.start()).add(1, 30_000)
      return scene.rows.length
    },
    seen: 0,
    usually: 1,
  },
  {
    section: writerOnly,
    path: 'purge.batchSize',
    mode: 'writerOnly',
    given: { purge: { intervalMs: 1_000 } },
    unusual: { purge: { batchSize: 7 } },
    async observe(scene) {
      await scene.start(30_000)
      return scene.given<{ readonly limit: number }>('purge', 0)[0]?.limit
    },
    seen: 7,
    usually: 500,
  },
  {
    section: writerOnly,
    path: 'purge.intervalMs',
    mode: 'writerOnly',
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

function shardsTaken({ calls }: OutboxScene): number[] {
  const taken = calls.filter(({ name }) => name === 'takeShards').flatMap(({ given }) => given[1] as number[])
  return [...new Set(taken)].filter((shard) => shard >= 0)
}
