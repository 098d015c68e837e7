import { createVirtualRuntime } from '@waybill/sim'
import { expect, test } from 'vitest'
import type { ShardLease } from '../../src/api/outbox-store.ts'
import { ShardLeases } from '../../src/keyed/shard-leases.ts'
import { MemoryOutbox } from '../support/memory-outbox.ts'

/** The leases of one node. The test decides which shards to take and release, and when one is drained. */
function scene() {
  const runtime = createVirtualRuntime(1)
  const table = new MemoryOutbox(runtime)
  const plan = { take: [] as number[], release: [] as number[] }
  const told: string[] = []
  const gained = new Map<number, ShardLease>()
  const drains = new Map<number, () => void>()
  const busy = new Set<number>()
  const leases = new ShardLeases(
    {
      database: table,
      store: table.store,
      runtime,
      owner: 'node',
      timeoutMs: 8_000,
      assignment: () => plan,
      showsPresence: false,
    },
    {
      busy,
      gained: (lease) => void gained.set(lease.shard, lease),
      drain: ({ shard }) => {
        told.push(`drain ${shard}`)
        return new Promise((resolve) => drains.set(shard, resolve))
      },
      lost: ({ shard }) => void told.push(`lost ${shard}`),
    },
  )
  const take = async (...shards: number[]): Promise<void> => {
    plan.take = shards
    await leases.maintain()
  }
  const release = async (...shards: number[]): Promise<void> => {
    plan.take = []
    plan.release = shards
    await leases.maintain()
  }
  const leaseOf = (shard: number): ShardLease => gained.get(shard) as ShardLease
  return {
    runtime,
    table,
    leases,
    told,
    busy,
    drains,
    take,
    release,
    leaseOf,
    holds: (n: number) => leases.holds(leaseOf(n)),
  }
}

test('I6 a lease ends a margin before it does in the table, counted from before its statement', async () => {
  const { runtime, table, leases, take, holds, told } = scene()
  table.latencyMs = 100
  await runtime.run(async () => {
    await take(1) // Sent after 100 ms, behind the query for the owners.
    await runtime.timers.sleep(7_299 - 200)
    expect([holds(1), told]).toEqual([true, []])
    await runtime.timers.sleep(1)
    expect(holds(1)).toBe(false)
    await runtime.timers.sleep(1)
    expect(told).toEqual(['lost 1'])
    await take(2)
    await runtime.timers.sleep(2_500)
    await leases.maintain() // Its renewal is sent at once, and answered 200 ms before it returns.
    await runtime.timers.sleep(7_199 - 200)
    expect(holds(2)).toBe(true)
    await runtime.timers.sleep(1)
    expect(holds(2)).toBe(false)
    await runtime.timers.sleep(1)
    expect(told).toEqual(['lost 1', 'lost 2'])
  })
})

test('each shard is lost when its own lease ends, and only then', async () => {
  const { runtime, table, take, told } = scene()
  table.latencyMs = 100
  await runtime.run(async () => {
    await take(1)
    await take(2) // Its lease is taken 200 ms after that of the other was renewed.
    await runtime.timers.sleep(7_001)
    expect(told).toEqual(['lost 1'])
    await runtime.timers.sleep(200)
    expect(told).toEqual(['lost 1', 'lost 2'])
  })
})

test('I22 a refused outcome loses its lease, and no later one; the fence names those that are left', async () => {
  const { runtime, leases, take, told, leaseOf, holds } = scene()
  await runtime.run(async () => {
    await take(1, 2)
    leases.refused({ ...leaseOf(2), version: leaseOf(2).version - 1n })
    expect(holds(2)).toBe(true)
    leases.refused(leaseOf(1))
    expect([holds(1), told]).toEqual([false, ['lost 1']])
    expect(leases.fence).toMatchObject({ leases: [{ shard: 2 }] })
  })
})

test('a shard that is lost while it drains, and taken again, stays with the node when the drain ends', async () => {
  const { runtime, table, take, release, told, drains, holds } = scene()
  await runtime.run(async () => {
    await take(1)
    await release(1)
    table.shards.set(1, { owner: 'other', version: 7n, until: Number.NEGATIVE_INFINITY })
    await release()
    await take(1)
    drains.get(1)?.()
    await runtime.timers.sleep(1_000)
    expect([told, holds(1), table.shards.get(1)?.owner]).toEqual([['drain 1', 'lost 1'], true, 'node'])
  })
})

test('only as many shards drain as are too many: one that drains is counted until it is released', async () => {
  const { runtime, take, release, told } = scene()
  await runtime.run(async () => {
    await take(1, 2, 3)
    await release(1)
    await release(3)
    expect(told).toEqual(['drain 1'])
    await release(2, 3)
    expect(told).toEqual(['drain 1', 'drain 2'])
  })
})

test('I6 the last release spares a shard whose rows still run', async () => {
  const { runtime, table, leases, busy, take } = scene()
  await runtime.run(async () => {
    await take(1, 2)
    busy.add(1)
    await leases.releaseAll()
  })
  expect([table.shards.get(1)?.owner, table.shards.get(2)?.owner]).toEqual(['node', ''])
})

test('a node that leaves takes nothing, and renews what it has', async () => {
  const { runtime, leases, take, holds } = scene()
  await runtime.run(async () => {
    await take(1)
    leases.leave()
    await runtime.timers.sleep(5_000)
    await take(1, 2)
    await runtime.timers.sleep(5_000)
    expect([holds(1), leases.size]).toEqual([true, 1])
  })
})
