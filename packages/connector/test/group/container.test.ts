import { watchRejections } from '@waybill/test-support/kafka'
import { describe, expect, test } from 'vitest'
import { containerScene } from './container-scene.ts'

watchRejections()

describe('a container', () => {
  test('S0-194 has as many members as asked for, with disjoint partitions and names of their own', () =>
    containerScene(async ({ sim, container, workers, eventually }) => {
      sim.createTopic('orders', { partitions: 6 })
      const one = container({ concurrency: 3, staticMembership: true })
      await one.start()
      await eventually(() => {
        const members = one.status().members
        expect(members.map(({ partitions }) => partitions.length)).toEqual([2, 2, 2])
        expect(members.map(({ instanceId }) => instanceId)).toEqual([0, 1, 2].map((index) => `shipping-host-${index}`))
      })
      const owned = one.status().members.flatMap(({ partitions }) => partitions.map(({ partition }) => partition))
      expect(new Set(owned)).toEqual(new Set([0, 1, 2, 3, 4, 5]))
      expect(owned).toHaveLength(6)
      expect(workers.map(({ deps }) => deps.consumerInstance)).toContain('host-2')
    }))

  test('pauses and resumes all partitions of all its members at once', () =>
    containerScene(async ({ sim, container, workers, eventually }) => {
      sim.createTopic('orders', { partitions: 4 })
      const one = container({ concurrency: 2 })
      await one.start()
      await eventually(() => expect(one.status().members.map(({ partitions }) => partitions.length)).toEqual([2, 2]))
      const reasons = () =>
        one.status().members.flatMap(({ partitions }) => partitions.flatMap(({ pausedBy }) => pausedBy))
      one.pause('OPERATOR')
      expect(reasons()).toEqual(['OPERATOR', 'OPERATOR', 'OPERATOR', 'OPERATOR'])
      workers.at(-1)?.pause('EXHAUSTED')
      one.resume('EXHAUSTED')
      one.resume('OPERATOR')
      expect([reasons(), one.pausedBy]).toEqual([[], []])
    }))

  test('fails to start when its cluster does not answer, and leaves no member behind', () =>
    containerScene(async ({ sim, container, workers, runtime }) => {
      sim.createTopic('orders')
      sim.killBroker(1)
      const one = container({ concurrency: 2 })
      await expect(one.start()).rejects.toThrow(/no node of the cluster/)
      expect(one.status().members.map(({ state }) => state)).toEqual(['STOPPED', 'STOPPED'])
      sim.restartBroker(1)
      await runtime.timers.sleep(60_000)
      expect(workers).toEqual([])
      expect(() => sim.group('shipping')).toThrow(/shipping/)
    }))

  test('I18 stops at its deadline although a worker never drains, and leaves the group', () =>
    containerScene(async ({ sim, container, workers, runtime, eventually }) => {
      sim.createTopic('orders')
      const one = container()
      await one.start()
      await eventually(() => expect(workers).toHaveLength(1))
      const [worker] = workers
      if (worker !== undefined) worker.draining = new Promise(() => {})
      const from = runtime.clock.monotonic()
      await one.stop({ deadlineMs: 5_000 })
      expect(runtime.clock.monotonic() - from).toBeLessThanOrEqual(5_000)
      expect(one.pausedBy).toEqual(['SHUTDOWN'])
      await eventually(() => expect(sim.group('shipping').members).toEqual([]))
    }))

  test('can be stopped twice, and before it was started', () =>
    containerScene(async ({ sim, container }) => {
      sim.createTopic('orders')
      const never = container()
      await never.stop({ deadlineMs: 1_000 })
      const one = container()
      await one.start()
      await Promise.all([one.stop({ deadlineMs: 1_000 }), one.stop({ deadlineMs: 1_000 })])
      expect(one.status().members.map(({ state }) => state)).toEqual(['STOPPED'])
    }))
})
