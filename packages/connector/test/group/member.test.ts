import { watchRejections } from '@waybill/test-support/kafka'
import { describe, expect, test } from 'vitest'
import { committedOffsets } from '../delivery/topic-records.ts'
import { containerScene } from './container-scene.ts'

watchRejections()

describe('a member', () => {
  test('S0-155 S2-037 opens a worker for each partition before it receives a record', () =>
    containerScene(async ({ sim, container, workers, prepare, write, eventually, runtime }) => {
      sim.createTopic('orders', { partitions: 2 })
      await write(['a', 'b'], 0)
      await write(['c'], 1)
      const opening = Promise.withResolvers<void>()
      prepare((worker) => {
        worker.opening = opening.promise
      })
      await container().start()
      await eventually(() => expect(workers).toHaveLength(2))
      await runtime.timers.sleep(10_000)
      expect(workers.map(({ journal }) => journal)).toEqual([['open'], ['open']])
      opening.resolve()
      await eventually(() => expect(workers.map(({ values }) => values)).toEqual([['a', 'b'], ['c']]))
      await eventually(() => expect(committedOffsets(sim, 'shipping', 'orders')).toEqual({ 0: 2n, 1: 1n }))
    }))

  test('S0-148 S0-154 S2-036 drains a revoked partition, commits it, then ends its worker', () =>
    containerScene(async ({ sim, container, workers, events, write, eventually }) => {
      sim.createTopic('orders')
      const one = container()
      await one.start()
      await write(['a'])
      await eventually(() => expect(workers[0]?.values).toEqual(['a']))
      const stalled = sim.stall({ api: 'OffsetCommit', client: 'connector' })
      await write(['b'])
      await eventually(() => expect(workers[0]?.values).toEqual(['a', 'b']))
      const stopped = one.stop({ deadlineMs: 30_000 })
      stalled[Symbol.dispose]()
      await stopped
      expect(workers[0]?.journal.slice(-3)).toEqual(['drain', 'committed 2', 'lose'])
      expect(committedOffsets(sim, 'shipping', 'orders')).toEqual({ 0: 2n })
      expect(events.at(-1)).toEqual({ type: 'RELEASED', partitions: [0], isLost: false })
      expect(one.status().members[0]).toMatchObject({ state: 'STOPPED', partitions: [] })
    }))

  test('S2-036 releases only the revoked partitions and keeps working on the others', () =>
    containerScene(async ({ sim, container, workers, write, eventually }) => {
      sim.createTopic('orders', { partitions: 2 })
      const first = container()
      await first.start()
      await write(['a'], 0)
      await write(['b'], 1)
      await eventually(() => expect(workers.map(({ values }) => values)).toEqual([['a'], ['b']]))
      const second = container({}, 'second')
      await second.start()
      await eventually(() => expect(workers).toHaveLength(3))
      await eventually(() => expect(first.status().members[0]?.partitions).toHaveLength(1))
      const [kept, given] = [workers[0], workers[1]].toSorted(
        (a, b) => (a?.journal.length ?? 0) - (b?.journal.length ?? 0),
      )
      expect(given?.journal).toContain('drain')
      expect(kept?.journal).not.toContain('drain')
      await write(['c'], kept?.partition)
      await eventually(() => expect(kept?.values.at(-1)).toBe('c'))
      expect(workers[2]?.values).toEqual([])
    }))

  test('I3 ends the worker of a lost partition at once, without a commit', () =>
    containerScene(async ({ sim, container, workers, events, write, eventually }) => {
      sim.createTopic('orders')
      const one = container()
      await one.start()
      await write(['a'])
      await eventually(() => expect(committedOffsets(sim, 'shipping', 'orders')).toEqual({ 0: 1n }))
      const [member] = sim.group('shipping').members
      sim.expireMember('shipping', member?.memberId ?? '')
      await eventually(() => expect(workers).toHaveLength(2))
      expect(workers[0]?.journal).not.toContain('drain')
      expect(workers[0]?.journal.at(-1)).toBe('lose')
      expect(events).toContainEqual({ type: 'RELEASED', partitions: [0], isLost: true })
      await write(['b'])
      await eventually(() => expect(workers[1]?.values).toEqual(['b']))
    }))

  test('S0-072 pauses new partitions for every current reason, and a rebalance changes none', () =>
    containerScene(async ({ sim, container, workers, write, eventually, runtime }) => {
      sim.createTopic('orders')
      const one = container()
      one.pause('OPERATOR')
      one.pause('BREAKER')
      await one.start()
      await eventually(() => expect(workers).toHaveLength(1))
      sim.rebalance('shipping')
      await runtime.timers.sleep(10_000)
      const current = (): readonly string[] => one.status().members[0]?.partitions[0]?.pausedBy ?? []
      expect(current()).toEqual(['OPERATOR', 'BREAKER'])
      one.resume('BREAKER')
      expect([current(), one.pausedBy]).toEqual([['OPERATOR'], ['OPERATOR']])
      await write(['a'])
      one.resume('OPERATOR')
      await eventually(() => expect(workers.at(-1)?.values).toEqual(['a']))
    }))

  test('that fails reports the reason, releases its partitions, and rejoins by itself', () =>
    containerScene(async ({ sim, container, workers, write, eventually }) => {
      sim.createTopic('orders')
      const one = container()
      await one.start()
      await eventually(() => expect(workers).toHaveLength(1))
      workers[0]?.deps.fail(new Error('a bug'))
      workers[0]?.deps.fail(new Error('and its consequence'))
      expect(one.status().members[0]).toMatchObject({ state: 'FAILED', failure: 'a bug' })
      await eventually(() => expect(workers).toHaveLength(2))
      expect(workers[0]?.journal.at(-1)).toBe('lose')
      await write(['a'])
      await eventually(() => expect(workers[1]?.values).toEqual(['a']))
      expect(one.status().members[0]).toMatchObject({ state: 'RUNNING', failure: undefined })
    }))

  test('that fails leaves the group, so that its partitions do not wait for the session timeout', () =>
    containerScene(async ({ sim, container, workers, write, eventually, runtime }) => {
      sim.createTopic('orders')
      await container().start()
      await write(['a'])
      await eventually(() => expect(workers[0]?.values).toEqual(['a']))
      const failedAt = runtime.clock.monotonic()
      workers[0]?.deps.fail(new Error('a bug'))
      await eventually(() => expect(workers).toHaveLength(2))
      expect(runtime.clock.monotonic() - failedAt).toBeLessThan(10_000)
      expect(sim.group('shipping').members).toHaveLength(1)
      expect(committedOffsets(sim, 'shipping', 'orders')).toEqual({ 0: 1n })
    }))

  test('whose worker cannot open does not read its partition, and retries with backoff', () =>
    containerScene(async ({ sim, container, workers, prepare, runtime, eventually, write }) => {
      sim.createTopic('orders')
      await write(['a'])
      const at: number[] = []
      let isBroken = true
      prepare((worker) => {
        at.push(runtime.clock.monotonic())
        if (isBroken) worker.open = () => Promise.reject(new Error('nobody can go on with this'))
      })
      await container().start()
      await runtime.timers.sleep(60_000)
      isBroken = false
      expect(workers.flatMap(({ values }) => values)).toEqual([])
      const waits = at.slice(1).map((time, index) => time - (at[index] as number))
      expect(waits.length).toBeGreaterThanOrEqual(3)
      expect(Math.max(...waits)).toBeGreaterThan((waits[0] as number) * 2)
      await eventually(() => expect(workers.at(-1)?.values).toEqual(['a']))
    }))

  test('that was fenced does not rejoin, and reports it', () =>
    containerScene(async ({ sim, container, workers, runtime, eventually }) => {
      sim.createTopic('orders')
      const first = container({ staticMembership: true })
      await first.start()
      await eventually(() => expect(workers).toHaveLength(1))
      const second = container({ staticMembership: true }, 'twin')
      await second.start()
      await eventually(() => expect(first.status().members[0]?.state).toBe('FAILED'))
      await eventually(() => expect(workers).toHaveLength(2))
      await runtime.timers.sleep(300_000)
      expect(workers).toHaveLength(2)
      expect(first.status().members[0]).toMatchObject({
        state: 'FAILED',
        instanceId: 'shipping-host-0',
        failure: expect.any(String),
      })
      expect(second.status().members[0]?.state).toBe('RUNNING')
      await first.stop({ deadlineMs: 1_000 })
      expect(first.status().members[0]?.state).toBe('STOPPED')
    }))

  test('C-72 reports to its worker and its owner that the next offset is no longer in the log', () =>
    containerScene(async ({ sim, container, workers, events, write, eventually }) => {
      sim.createTopic('orders')
      const first = container()
      await first.start()
      await write(['a'])
      await eventually(() => expect(committedOffsets(sim, 'shipping', 'orders')).toEqual({ 0: 1n }))
      await first.stop({ deadlineMs: 1_000 })
      await write(['b', 'c'])
      sim.deleteRecords('orders', 0, 2n)
      const second = container()
      await second.start()
      await eventually(() => expect(workers.at(-1)?.values).toEqual(['c']))
      expect(events.filter(({ type }) => type === 'POSITION_LOST')).toHaveLength(1)
    }))
})
