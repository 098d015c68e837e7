import { describe, expect, test } from 'vitest'
import { workerScene } from './lanes/worker-scene.ts'

const committed = { offset: 5n, metadata: 'wb1 s=0 o=3 r=2 d=0 k=0 h=0 b=' }
/** A commit of a binding that kept order per key, with two records in its waiting topic. */
const waiting = { ...committed, metadata: `${committed.metadata} w=4 ws=0 wo=0 wr=0 wd=0 wk=4 wh=0 wp=0 wn=2 wb=` }

describe('a partition', () => {
  test('counts anew from where its consumer reads when that is not the committed offset', async () => {
    const { worker, records, end, commit } = await workerScene({ committed, position: 9n })
    worker.accept(records(9, 10))
    await end(9)
    expect(commit()).toMatch(/^10 wb1 s=9 /)
    expect(worker.status().watermark).toBe(10n)
  })

  test('that may not run is logged, and other pauses come and go', async () => {
    const { worker, logger } = await workerScene({ committed: waiting, position: 5n })
    expect(logger.lines).toMatchObject([
      { level: 'ERROR', text: 'Partition not started', fields: { topic: 'orders', partition: 0 } },
    ])
    worker.pause('OPERATOR')
    worker.resume('OPERATOR')
    expect(worker.status().pausedBy).toEqual(['EXHAUSTED'])
  })

  test('whose log was cut is fetched again although too many of its bytes were buffered before', async () => {
    const binding = { maxBufferedBytes: 1_000, maxBufferedRecords: 1_000 }
    const { worker, records } = await workerScene({ binding, position: 10n })
    worker.accept(records(10, 14, () => ({ byteLength: 500 })))
    expect(worker.status().pausedBy).toEqual(['BACKPRESSURE'])
    worker.positionLost(3n)
    expect(worker.status().pausedBy).toEqual([])
  })
})

describe.each(['lost', 'drained'] as const)('a partition that is %s', (how) => {
  const giveUp = ({ worker }: Awaited<ReturnType<typeof workerScene>>): void => {
    if (how === 'lost') worker.lose()
    else void worker.drain(1_000)
  }

  test('forgets the records that have not started', async () => {
    const scene = await workerScene()
    scene.worker.accept(scene.records(0, 3))
    expect(scene.worker.status().buffered).toBe(2)
    giveUp(scene)
    expect(scene.worker.status().buffered).toBe(0)
  })

  test('waits for no slot any more', async () => {
    const scene = await workerScene({ binding: { parallelism: 'UNORDERED', maxInFlight: 1 } })
    scene.worker.accept(scene.records(0, 2))
    expect(scene.slots.isContended).toBe(true)
    giveUp(scene)
    expect(scene.slots.isContended).toBe(false)
  })

  test('waits for no record to be due any more', async () => {
    const scene = await workerScene({ tier: 1 })
    const timestamp = scene.runtime.clock.now()
    scene.worker.accept(scene.records(0, 1, () => ({ timestamp })))
    expect(scene.worker.status().pausedBy).toEqual(['DELAY'])
    giveUp(scene)
    await scene.runtime.advance(1_000)
    expect([scene.runtime.pending, scene.worker.status().pausedBy]).toEqual([0, []])
  })
})
