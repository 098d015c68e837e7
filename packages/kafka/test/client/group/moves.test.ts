/** Partitions that move between members with the default heartbeat interval of 10 s. */

import { type Interceptor, RequestLog } from '@waybill/test-support/kafka'
import { describe, expect, test } from 'vitest'
import { type SimRun, simRun } from '../consume/sim-run.ts'

const intervalMs = 10_000

interface Moving {
  readonly members?: number
  readonly drainMs?: number
}

/** When a partition was released and owned again, and the heartbeats that all members sent meanwhile. */
interface Moved {
  readonly ownerlessMs: number[]
  readonly beats: number
}

/** Starts members that own one partition or more each, then one more member, and watches what moves to it. */
async function move({ members = 1, drainMs = 0 }: Moving): Promise<Moved> {
  const log = new RequestLog()
  const watch: Interceptor = (api, request, pass) => log.watch(api, request, pass)
  const releasedAt = new Map<number, number>()
  const ownerlessMs: number[] = []
  let beats = 0
  await simRun(
    async ({ cluster, runtime, sleep, eventually, owning }: SimRun) => {
      const now = (): number => runtime.clock.monotonic()
      const topic = await cluster.createTopic('t', 2 * members)
      const member = (name: string) =>
        cluster.consumer(
          {
            groupId: 'g',
            topics: [topic],
            heartbeatIntervalMs: intervalMs,
            sessionTimeoutMs: 45_000,
            rebalanceTimeoutMs: 300_000,
            drainDeadlineMs: 60_000,
            metadataRefreshMs: 300_000,
            async onRevoking(partitions) {
              await sleep(drainMs)
              for (const { partition } of partitions) releasedAt.set(partition, now())
            },
            async onAssigned(partitions) {
              for (const { partition } of partitions) {
                const at = releasedAt.get(partition)
                if (at !== undefined) ownerlessMs.push(now() - at)
              }
            },
          },
          name,
        )
      const first = Array.from({ length: members }, (_, index) => member(`m${index}`))
      await Promise.all(first.map((one) => one.start()))
      await eventually(() => expect(first.flatMap((one) => one.assignment())).toHaveLength(2 * members))
      // Every member has its share, and heartbeats follow the interval.
      await sleep(3 * intervalMs)
      releasedAt.clear()
      ownerlessMs.length = 0
      const newcomer = member('newcomer')
      const before = log.of('Heartbeat').length
      await newcomer.start()
      await owning(newcomer, 1)
      beats = log.of('Heartbeat').length - before
    },
    { intercept: watch },
  )
  return { ownerlessMs, beats }
}

describe('a partition that moves to another member', () => {
  test('has a new owner within a fraction of the heartbeat interval', async () => {
    const { ownerlessMs } = await move({})
    expect(ownerlessMs).toHaveLength(1)
    expect(ownerlessMs[0]).toBeLessThan(intervalMs / 20)
  })

  test('has a new owner as soon among 20 members, for a few heartbeats of each', async () => {
    const { ownerlessMs, beats } = await move({ members: 20 })
    expect(ownerlessMs).toHaveLength(1)
    expect(ownerlessMs[0]).toBeLessThan(intervalMs / 20)
    // Two generations, the first of which no member sees for up to an interval.
    expect(beats).toBeLessThan(20 * 8)
  })

  test('is without an owner for no longer than its drain, which costs a few heartbeats, not a storm', async () => {
    const short = await move({ drainMs: 3_000 })
    expect(short.ownerlessMs[0]).toBeLessThan(3_500)
    const long = await move({ members: 20, drainMs: 30_000 })
    expect(long.ownerlessMs[0]).toBeLessThanOrEqual(intervalMs + 500)
    expect(long.beats).toBeLessThan(21 * 16)
  })
})
