import { sleepWith } from '@waybill/core/internal'
import { Outbox } from '@waybill/outbox'
import { modeShard, type RowStatus } from '@waybill/outbox/internal'
import type { VirtualRuntime } from '@waybill/sim'
import { expect, test } from 'vitest'
import type { MemoryOutbox } from '../support/memory-outbox.ts'
import { createHarness, type OutboxHarness, orderEvent } from '../support/outbox-harness.ts'

/** Longer than any mark: rows, or shards, are the node's by their own leases for as long as a test lasts. */
const claimLocking = { timeoutMs: 300_000 }

const modes = {
  'Outbox.singleNode': (base: OutboxHarness['base']) => Outbox.singleNode({ ...base, workerCount: 1 }),
  'Outbox.multiNode': (base: OutboxHarness['base']) => Outbox.multiNode({ ...base, workerCount: 1, claimLocking }),
  'Outbox.keyed': (base: OutboxHarness['base']) => Outbox.keyed({ ...base, workerCount: 1, claimLocking }),
  'Outbox.leasing': (base: OutboxHarness['base']) => Outbox.leasing({ ...base, maxInFlight: 1, claimLocking }),
  'Outbox.ordered': (base: OutboxHarness['base']) => Outbox.ordered(base),
} as const
const names = Object.keys(modes) as (keyof typeof modes)[]

/** A process that can be stopped as by SIGSTOP: its timers run late, in the order in which they were due. */
function stoppable(base: VirtualRuntime): {
  readonly runtime: VirtualRuntime
  readonly freeze: () => void
  readonly thaw: () => void
} {
  let late: (() => void)[] | undefined
  const schedule = (ms: number, run: () => void): Disposable => {
    let isOver = false
    const runInTime = (): void => {
      if (isOver) return
      if (late === undefined) run()
      else late.push(runInTime)
    }
    const timer = base.timers.schedule(ms, runInTime)
    return {
      [Symbol.dispose]: () => {
        isOver = true
        timer[Symbol.dispose]()
      },
    }
  }
  return {
    runtime: { ...base, timers: { schedule, sleep: (ms, signal) => sleepWith(schedule, ms, signal) } },
    freeze: () => {
      late = []
    },
    thaw: () => {
      const due = late ?? []
      late = undefined
      for (const [at, run] of due.entries()) base.timers.schedule(at, run)
    },
  }
}

/** Another mode takes the table, finishes all of it, and is gone before its mark has run out. */
function letAnotherModeWork({ runtime, outbox }: OutboxHarness): void {
  const mark = outbox.shards.get(modeShard)
  const version = (mark?.version ?? 0n) + 1n
  outbox.shards.set(modeShard, { owner: 'Outbox.other', version, until: runtime.clock.now() + 15_000 })
  finishAll(outbox)
}

function finishAll({ rows }: MemoryOutbox): void {
  for (const row of rows) row.status = 'DONE' satisfies RowStatus
}

test.each(names)('%s starts nothing of what it had in memory before another mode had the table', async (mode) => {
  const harness = createHarness()
  const { runtime, outbox: table } = harness
  let hasEnded = false
  let wasTold = false
  harness.behaviour = async (_, { signal }) => {
    if (harness.delivered.length > 1) return
    await runtime.timers.sleep(45_000)
    wasTold = signal.aborted
    hasEnded = true
  }
  table.add(orderEvent(1), orderEvent(2), orderEvent(3))
  const node = stoppable(runtime)
  const outbox = modes[mode]({ ...harness.base, runtime: node.runtime })
  await runtime.run(async () => {
    await outbox.start()
    await runtime.timers.sleep(4_500)
    expect(harness.delivered.length).toBe(1)
    node.freeze()
    await runtime.timers.sleep(16_000)
    letAnotherModeWork(harness)
    await runtime.timers.sleep(16_000)
    node.thaw()
    await harness.until(() => hasEnded)
    await runtime.timers.sleep(10_000)
    expect(harness.delivered.length).toBe(1)
    expect(wasTold).toBe(true)
    table.add(orderEvent(4))
    await harness.until(() => harness.delivered.length === 2)
    expect(harness.deliveredIds()[1]).toBe('event-4')
    await outbox.stop()
  })
})

test.each([
  ['Outbox.singleNode', 'pollPending'],
  ['Outbox.ordered', 'pollPending'],
  ['Outbox.multiNode', 'claimPending'],
  ['Outbox.keyed', 'readShards'],
] as const)('%s starts nothing of what it is answered late, once another mode had the table', async (mode, look) => {
  const harness = createHarness()
  const { runtime, outbox: table } = harness
  const answer = Promise.withResolvers<void>()
  const listener = Promise.withResolvers<void>()
  harness.behaviour = ({ eventId }) => (eventId === 'event-1' ? listener.promise : Promise.resolve())
  table.add(orderEvent(1))
  const node = stoppable(runtime)
  const outbox = modes[mode]({ ...harness.base, runtime: node.runtime })
  await runtime.run(async () => {
    await outbox.start()
    await harness.until(() => harness.delivered.length === 1)
    // One of each kind, because a node looks for the one before the other.
    const [, repeated] = table.add(orderEvent(2), orderEvent(3))
    Object.assign(repeated ?? {}, { status: 'RETRY', attempts: 1 })
    let isAsked = false
    table.after = (call) => {
      if (call !== look) return undefined
      isAsked = true
      return answer.promise
    }
    await harness.until(() => isAsked)
    node.freeze()
    await runtime.timers.sleep(16_000)
    letAnotherModeWork(harness)
    await runtime.timers.sleep(16_000)
    node.thaw()
    await runtime.timers.sleep(5_000)
    expect(table.shards.get(modeShard)?.owner).toBe(mode)
    table.after = () => {}
    answer.resolve()
    await runtime.timers.sleep(1_000)
    listener.resolve()
    await runtime.timers.sleep(10_000)
    await outbox.stop()
  })
  expect(harness.deliveredIds()).toEqual(['event-1'])
})

test('a commit reported late, after another mode had the table, is not delivered by the hot path', async () => {
  const harness = createHarness()
  const { runtime, outbox: table } = harness
  const node = stoppable(runtime)
  const outbox = modes['Outbox.multiNode']({ ...harness.base, runtime: node.runtime })
  await runtime.run(async () => {
    await outbox.start()
    const open = table.open()
    await outbox.write(open.tx, 'order.placed', {})
    node.freeze()
    await runtime.timers.sleep(16_000)
    letAnotherModeWork(harness)
    await runtime.timers.sleep(16_000)
    node.thaw()
    await runtime.timers.sleep(5_000)
    expect(table.shards.get(modeShard)?.owner).toBe('Outbox.multiNode')
    // It took effect long ago, and the other mode has delivered the row: only its answer comes now.
    open.commit()
    await runtime.timers.sleep(10_000)
    await outbox.stop()
  })
  expect(harness.delivered).toEqual([])
})

test.each(names)(
  'a listener of %s is told as soon as the mark may have run out, also when nothing answers',
  async (mode) => {
    const harness = createHarness()
    const { runtime, outbox: table } = harness
    const listener = Promise.withResolvers<void>()
    let signal: AbortSignal | undefined
    harness.behaviour = async (_, context) => {
      signal = context.signal
      await listener.promise
    }
    table.add(orderEvent(1))
    const outbox = modes[mode](harness.base)
    await runtime.run(async () => {
      await outbox.start()
      await harness.until(() => signal !== undefined)
      const answer = Promise.withResolvers<void>()
      table.before = (call) => (call === 'takeShards' ? answer.promise : undefined)
      await runtime.timers.sleep(13_900)
      expect(signal?.aborted).toBe(false)
      await runtime.timers.sleep(150)
      expect(signal?.aborted).toBe(true)
      answer.resolve()
      table.before = () => {}
      listener.resolve()
      await runtime.timers.sleep(5_000)
      await outbox.stop()
    })
  },
)

test('rows that were given up with the mark are delivered once it is back, though their claims last', async () => {
  const harness = createHarness()
  const { runtime, outbox: table } = harness
  const listener = Promise.withResolvers<void>()
  harness.behaviour = ({ eventId }) => (eventId === 'event-1' ? listener.promise : Promise.resolve())
  table.add(orderEvent(1), orderEvent(2), orderEvent(3))
  const outbox = modes['Outbox.multiNode'](harness.base)
  await runtime.run(async () => {
    await outbox.start()
    await harness.until(() => harness.delivered.length === 1)
    table.before = () => {
      throw new Error('The database is down.')
    }
    await runtime.timers.sleep(20_000)
    listener.resolve()
    await runtime.timers.sleep(20_000)
    // Another node of the mode has raised it: that no other mode did is not known here.
    const mark = table.shards.get(modeShard)
    if (mark !== undefined) mark.version += 5n
    table.before = () => {}
    await harness.until(() => table.withStatus('DONE').length === 3)
    await outbox.stop()
  })
  expect(harness.deliveredIds().toSorted()).toEqual(['event-1', 'event-2', 'event-3'])
})

test('an event that asked for more time does not have its next attempt once another mode had the table', async () => {
  const harness = createHarness()
  const { runtime, outbox: table } = harness
  harness.behaviour = async () => ({ retryAfterMs: 2_000 })
  table.add(orderEvent(1))
  // Its time comes before anything that would tell that the table was another's.
  table.latencyMs = 50
  const node = stoppable(runtime)
  const outbox = modes['Outbox.ordered']({ ...harness.base, runtime: node.runtime })
  await runtime.run(async () => {
    await outbox.start()
    await harness.until(() => harness.delivered.length === 1)
    node.freeze()
    await runtime.timers.sleep(16_000)
    letAnotherModeWork(harness)
    await runtime.timers.sleep(16_000)
    node.thaw()
    await runtime.timers.sleep(20_000)
    await outbox.stop()
  })
  expect(harness.delivered.length).toBe(1)
})

test.each(names)('a listener of %s is aborted when another mode is found to have the table', async (mode) => {
  const harness = createHarness()
  const { runtime, outbox: table } = harness
  const listener = Promise.withResolvers<void>()
  let signal: AbortSignal | undefined
  harness.behaviour = async (_, context) => {
    signal = context.signal
    await listener.promise
  }
  table.add(orderEvent(1))
  const outbox = modes[mode](harness.base)
  await runtime.run(async () => {
    await outbox.start()
    await runtime.timers.sleep(6_000)
    // The database's clock was set forward, say: by its own clock the node has the mark for a long time yet.
    letAnotherModeWork(harness)
    await runtime.timers.sleep(5_000)
    expect(signal?.aborted).toBe(true)
    listener.resolve()
    await outbox.stop()
  })
})
