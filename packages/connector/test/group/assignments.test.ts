import { watchRejections } from '@waybill/test-support/kafka'
import { describe, expect, test } from 'vitest'
import { workerScene } from '../partition/lanes/worker-scene.ts'
import { containerScene } from './container-scene.ts'

watchRejections()

describe('the beginning of an assignment', () => {
  test('I20: commits nothing before the committed offset is known', async () => {
    const metadata = 'wb1 s=0 o=5 r=0 d=0 k=0 h=0 b='
    const scene = await workerScene({ position: 5n, committed: { offset: 5n, metadata }, isOpen: false })
    const { worker } = scene
    worker.polled()
    worker.repeatCommit()
    expect(scene.commit()).toBeUndefined()
    await worker.open()
    worker.repeatCommit()
    expect(scene.commit()).toBe(`5 ${metadata}`)
  })
})

describe('the end of an assignment', () => {
  test('L1: does not affect the next assignment when it exceeds its deadline', () =>
    containerScene(async ({ sim, container, workers, prepare, write, eventually, runtime }) => {
      sim.createTopic('orders', { partitions: 2 })
      const draining = Promise.withResolvers<void>()
      prepare((worker) => {
        worker.draining = draining.promise
      })
      await container({ shutdownTimeoutMs: 1_000 }).start()
      await eventually(() => expect(workers).toHaveLength(2))
      prepare(() => {})
      const second = container({}, 'second')
      await second.start()
      await eventually(() => expect(workers).toHaveLength(3))
      await second.stop({ deadlineMs: 1_000 })
      await eventually(() => expect(workers).toHaveLength(4))
      draining.resolve()
      await runtime.timers.sleep(100)
      await write(['a'], workers[3]?.partition)
      await eventually(() => expect(workers[3]?.values).toEqual(['a']))
      expect(workers[3]?.journal).not.toContain('lose')
    }))
})

describe('a record that is too far ahead', () => {
  test('waits for the commit, without a timer', async () => {
    const scene = await workerScene({
      binding: { failureProfile: 'BLOCKING_UNLIMITED', maxAhead: 1 },
    })
    const { worker, records, running, runtime } = scene
    worker.accept(records(0, 2))
    await scene.end(0)
    expect([running(), runtime.pending]).toEqual([[], 0])
    scene.commit()
    expect(running()).toEqual([1])
  })
})
