import { errorCode } from '@waybill/kafka/wire'
import { createVirtualRuntime } from '@waybill/sim'
import { describe, expect, test } from 'vitest'
import type { Cluster } from '../../../src/client/cluster/cluster.ts'
import type { Nodes } from '../../../src/client/cluster/nodes.ts'
import { CoordinatorLink } from '../../../src/client/group/coordinator-link.ts'
import { Heartbeat, type HeartbeatOptions } from '../../../src/client/group/heartbeat.ts'

/** The error code of a response, once there is one. */
type Answer = (nth: number) => number | Promise<number>

const { NONE, REBALANCE_IN_PROGRESS, NOT_COORDINATOR } = errorCode

/** Runs a heartbeat in virtual time. `sentAt` are the times of its requests since the first generation began. */
async function beating(
  given: Partial<HeartbeatOptions> & { readonly answer?: Answer },
  program: (run: {
    readonly heartbeat: Heartbeat
    readonly sentAt: number[]
    readonly verdicts: string[]
    readonly sleep: (ms: number) => Promise<void>
  }) => Promise<void>,
): Promise<void> {
  const { answer = () => NONE, ...options } = given
  const runtime = createVirtualRuntime(1)
  await runtime.run(async () => {
    const sentAt: number[] = []
    const verdicts: string[] = []
    const startedAt = runtime.clock.monotonic()
    const nodes: Nodes = {
      async send() {
        sentAt.push(runtime.clock.monotonic() - startedAt)
        return { errorCode: await answer(sentAt.length) } as never
      },
      close() {},
    }
    const cluster = {
      coordinator: async () => ({ host: 'a', port: 1 }),
      invalidateCoordinator() {},
    } as unknown as Cluster
    const link = new CoordinatorLink(cluster, { JOIN: nodes, OFFSET: nodes, BEAT: nodes }, runtime.clock, 'g')
    const heartbeat = new Heartbeat(
      link,
      runtime,
      {
        heartbeatIntervalMs: 10_000,
        sessionTimeoutMs: 45_000,
        instanceId: null,
        assignment: 'COOPERATIVE',
        ...options,
      },
      {
        membership: { memberId: 'me', generationId: 5 },
        verdict: (verdict) => void verdicts.push(verdict),
        revived() {},
      },
    )
    await program({ heartbeat, sentAt, verdicts, sleep: (ms) => runtime.timers.sleep(ms) })
    heartbeat.stop()
  })
}

describe('the heartbeats of a generation', () => {
  test('hurry in a cooperative group, each wait twice as long as the one before, up to the interval', () =>
    beating({}, async ({ heartbeat, sentAt, sleep }) => {
      heartbeat.start()
      await sleep(40_000)
      expect(sentAt).toEqual([125, 375, 875, 1_875, 3_875, 7_875, 15_875, 25_875, 35_875])
    }))

  test('follow the interval from the beginning in an eager group', () =>
    beating({ assignment: 'EAGER' }, async ({ heartbeat, sentAt, sleep }) => {
      heartbeat.start()
      await sleep(40_000)
      expect(sentAt).toEqual([10_000, 20_000, 30_000, 40_000])
    }))

  test('are never less frequent than the interval', () =>
    beating({ heartbeatIntervalMs: 100 }, async ({ heartbeat, sentAt, sleep }) => {
      heartbeat.start()
      await sleep(350)
      expect(sentAt).toEqual([100, 200, 300])
    }))

  test('replace those of the generation before', () =>
    beating({}, async ({ heartbeat, sentAt, sleep }) => {
      heartbeat.start()
      await sleep(5_000)
      heartbeat.start()
      await sleep(5_000)
      expect(sentAt).toEqual([125, 375, 875, 1_875, 3_875, 5_125, 5_375, 5_875, 6_875, 8_875])
    }))

  test('do not double when a generation begins while a response is outstanding, which still counts', () => {
    const pending = Promise.withResolvers<number>()
    const answer: Answer = (nth) => (nth === 1 ? pending.promise : NONE)
    return beating({ answer }, async ({ heartbeat, sentAt, verdicts, sleep }) => {
      heartbeat.start()
      await sleep(200)
      heartbeat.start()
      await sleep(100)
      pending.resolve(REBALANCE_IN_PROGRESS)
      await sleep(1_000)
      expect(sentAt).toEqual([125, 325, 575, 1_075])
      expect(verdicts).toEqual(['REBALANCE'])
    })
  })

  test('are repeated soon without a response, and follow the interval again after one', () =>
    beating({ answer: (nth) => (nth === 9 || nth === 10 ? NOT_COORDINATOR : NONE) }, async (run) => {
      run.heartbeat.start()
      await run.sleep(50_000)
      expect(run.sentAt.slice(7)).toEqual([25_875, 35_875, 36_375, 36_875, 46_875])
    }))

  test('end with a stop, also when a response is outstanding', () => {
    const pending = Promise.withResolvers<number>()
    return beating({ answer: () => pending.promise }, async ({ heartbeat, sentAt, verdicts, sleep }) => {
      heartbeat.start()
      await sleep(200)
      heartbeat.stop()
      pending.resolve(REBALANCE_IN_PROGRESS)
      await sleep(60_000)
      expect([sentAt, verdicts]).toEqual([[125], []])
    })
  })
})
