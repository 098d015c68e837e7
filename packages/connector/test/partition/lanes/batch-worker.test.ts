import { describe, expect, test } from 'vitest'
import type { Batch } from '../../../src/delivery/batch.ts'
import type { Outcome } from '../../../src/delivery/outcome.ts'
import { failure, type SceneOptions, toDeadLetter, workerScene } from './worker-scene.ts'

const redelivered: Outcome = { kind: 'PAUSE', cause: 'REDELIVERED', failure }
const breaker: Outcome = { kind: 'PAUSE', cause: 'BREAKER', failure }

const batchScene = ({ binding, ...options }: SceneOptions = {}) =>
  workerScene({ ...options, binding: { listenerType: 'BATCH', ...binding } })

describe('BatchRecordListenerAdapter: the records of a batch', () => {
  test('S0-087 S0-094 run one after another and are committed once, when the last is settled', async () => {
    const { worker, records, running, end, commit, state } = await batchScene()
    worker.accept(records(0, 3))
    for (const offset of [0, 1]) {
      expect(running()).toEqual([offset])
      await end(offset)
      expect(state.changes).toBe(0)
    }
    await end(2)
    expect(state.urgent).toBeGreaterThan(0)
    expect(commit()).toBe('3 wb1 s=0 o=3 r=0 d=0 k=0 h=0 b=')
  })

  test('L5 are acknowledged before the next batch begins, which is all that came meanwhile', async () => {
    const { worker, records, running, end, commit, state } = await batchScene()
    worker.accept(records(0, 2))
    worker.accept(records(2, 3))
    worker.accept(records(3, 4))
    await end(0)
    await end(1)
    expect(running()).toEqual([])
    commit()
    expect(running()).toEqual([2])
    await end(2)
    expect(running()).toEqual([3])
    await end(3)
    expect([running(), state.changes - state.urgent]).toEqual([[], 0])
    expect(commit()).toMatch(/^4 /)
  })

  test('are at most maxPollRecords', async () => {
    const { worker, records, running, end } = await batchScene({ binding: { maxPollRecords: 2 } })
    worker.accept(records(0, 5))
    await end(0)
    await end(1)
    expect(running()).toEqual([])
  })

  test('C-07 begin the next batch at the one that failed; those before it are committed and not repeated', async () => {
    const { worker, records, running, end, commit } = await batchScene()
    worker.accept(records(0, 4))
    await end(0)
    await end(1)
    await end(2, redelivered)
    expect(running()).toEqual([])
    expect(commit()).toBe('2 wb1 s=0 o=2 r=0 d=0 k=0 h=0 b=')
    expect(running()).toEqual([2])
    await end(2)
    expect(running()).toEqual([3])
  })

  test('C-07 begin the next batch at once when the first failed: nothing is there to commit', async () => {
    const { worker, records, running, end, state } = await batchScene()
    worker.accept(records(0, 2))
    await end(0, redelivered)
    expect([running(), state.changes]).toEqual([[0], 0])
  })

  test('S0-093 go on while a dead letter is on its way, and are committed when it is confirmed', async () => {
    const { worker, records, running, end, confirm, commit, state } = await batchScene()
    worker.accept(records(0, 3))
    await end(0, toDeadLetter)
    expect(running()).toEqual([1])
    await end(1)
    await end(2)
    expect(state.urgent).toBe(0)
    await confirm()
    expect(state.urgent).toBeGreaterThan(0)
    expect(commit()).toBe('3 wb1 s=0 o=2 r=0 d=1 k=0 h=0 b=')
  })

  test('wait for the confirmation of a dead letter with STRICT', async () => {
    const { worker, records, running, end, confirm } = await batchScene({ binding: { orderingMode: 'STRICT' } })
    worker.accept(records(0, 2))
    await end(0, toDeadLetter)
    expect(running()).toEqual([])
    await confirm()
    expect(running()).toEqual([1])
  })

  test('S0-089 S0-150 end early when the poll interval is all but used up; the rest is another batch', async () => {
    const { worker, records, running, end, commit, runtime } = await batchScene({
      binding: { maxPollIntervalMs: 100_000 },
    })
    worker.accept(records(0, 3))
    await runtime.advance(70_000)
    await end(0)
    expect(running()).toEqual([1])
    await runtime.advance(1)
    await end(1)
    expect(running()).toEqual([])
    expect(commit()).toBe('2 wb1 s=0 o=2 r=0 d=0 k=0 h=0 b=')
    expect(running()).toEqual([2])
    await runtime.advance(69_000)
    await end(2)
    expect(commit()).toBe('3 wb1 s=0 o=3 r=0 d=0 k=0 h=0 b=')
  })

  test('are committed as far as they are handled while an operator pauses or the circuit is open', async () => {
    const { worker, records, running, end, commit, state } = await batchScene()
    worker.accept(records(0, 5))
    await end(0)
    worker.pause('OPERATOR')
    await end(1)
    expect(running()).toEqual([])
    expect(state.urgent).toBeGreaterThan(0)
    expect(commit()).toMatch(/^2 /)
    worker.resume('OPERATOR')
    state.urgent = 0
    await end(2)
    await end(3, breaker)
    expect(running()).toEqual([])
    expect(state.urgent).toBeGreaterThan(0)
    expect(commit()).toMatch(/^3 /)
    worker.resume('BREAKER')
    expect(running()).toEqual([3])
  })

  test('I14 count as running when they start again as soon as they are put back', async () => {
    const calls: ((outcomes: readonly Outcome[]) => void)[] = []
    const batchDelivery = { deliver: () => new Promise<readonly Outcome[]>((resolve) => void calls.push(resolve)) }
    const { worker, records } = await batchScene({ batchDelivery, binding: { handler: { handleBatch: () => {} } } })
    worker.accept(records(0, 3))
    calls[0]?.([breaker, breaker, breaker])
    // The circuit closes meanwhile: in whichever turn it does, the records are somewhere.
    for (let turn = 0; turn < 20; turn++) {
      await Promise.resolve()
      worker.resume('BREAKER')
      const { buffered, running } = worker.status()
      expect(buffered + running).toBe(3)
    }
    expect(calls.length).toBe(2)
    expect(worker.status()).toMatchObject({ buffered: 0, running: 3 })
  })

  test.for([
    ['follow each other', [0, 1, 2], '3 wb1 s=0 o=3 r=0 d=0 k=0 h=0 b='],
    ['have holes between them', [0, 2, 5], '6 wb1 s=0 o=3 r=0 d=0 k=0 h=3 b='],
  ] as const)('that %s are settled together when a batch handler took them all', async ([, offsets, expected]) => {
    const works: bigint[][] = []
    const batchDelivery = {
      deliver: async ({ records }: Batch) => {
        works.push(records.map(({ offset }) => offset))
        return 'DONE' as const
      },
    }
    const { worker, records, commit, runtime } = await batchScene({
      batchDelivery,
      binding: { handler: { handleBatch: () => {} } },
    })
    worker.accept(offsets.flatMap((offset) => records(offset, offset + 1)))
    await runtime.advance(0)
    expect(works).toEqual([offsets.map(BigInt)])
    expect(worker.status()).toMatchObject({ buffered: 0, running: 0 })
    expect(commit()).toBe(expected)
  })

  test('of a batch handler are at most maxPollRecords, and none is beyond maxAhead', async () => {
    const sizes: number[] = []
    const batchDelivery = {
      deliver: async ({ size }: Batch) => {
        sizes.push(size)
        return 'DONE' as const
      },
    }
    const { worker, records, commit, runtime } = await batchScene({
      batchDelivery,
      binding: { handler: { handleBatch: () => {} }, maxPollRecords: 4, maxAhead: 3 },
    })
    worker.accept(records(0, 8))
    for (const expected of [[3], [3, 3], [3, 3, 2]]) {
      await runtime.advance(0)
      expect(sizes).toEqual(expected)
      commit()
    }
  })

  test('of a batch handler change nothing when they end after the log was cut or the partition was lost', async () => {
    for (const happens of ['CUT', 'LOST'] as const) {
      const calls: ((outcome: 'DONE') => void)[] = []
      const batchDelivery = { deliver: () => new Promise<'DONE'>((resolve) => void calls.push(resolve)) }
      const { worker, records, runtime, problems } = await batchScene({
        batchDelivery,
        position: 10n,
        binding: { handler: { handleBatch: () => {} } },
      })
      worker.accept(records(10, 12))
      if (happens === 'CUT') worker.positionLost(3n)
      else worker.lose()
      // Offsets of the call under way are those of other records now.
      worker.accept(records(3, 13))
      for (let call = 0; call < 2; call++) {
        expect(worker.status().watermark).toBe(happens === 'CUT' ? 3n : 10n)
        calls[call]?.('DONE')
        await runtime.advance(0)
      }
      expect(worker.status().watermark).toBe(happens === 'CUT' ? 13n : 10n)
      expect(calls.length).toBe(happens === 'CUT' ? 2 : 1)
      expect(problems).toEqual([])
    }
  })

  test('go on behind a commit where they reach farther than maxAhead', async () => {
    const { worker, records, running, end, commit } = await batchScene({ binding: { maxAhead: 2 } })
    worker.accept(records(0, 3))
    await end(0)
    await end(1)
    expect(running()).toEqual([])
    commit()
    expect(running()).toEqual([2])
  })

  test('leave holes at the end of the log to be committed without another batch', async () => {
    const { worker, state, commit } = await batchScene()
    state.position = 3n
    worker.polled()
    expect(state.urgent).toBeGreaterThan(0)
    expect(commit()).toBe('3 wb1 s=0 o=0 r=0 d=0 k=0 h=3 b=')
  })

  test('of a log that was cut do not keep those of the new one from running', async () => {
    const { worker, records, running, end, commit } = await batchScene({ position: 10n })
    worker.accept(records(10, 12))
    worker.positionLost(3n)
    await end(10)
    worker.accept(records(3, 5))
    await end(3)
    await end(4)
    expect(running()).toEqual([])
    expect(commit()).toMatch(/^5 /)
  })

  test('are one each in a tier, where every record is due at a time of its own', async () => {
    const { worker, records, running, end, commit, runtime } = await workerScene({
      binding: { listenerType: 'BATCH', ackMode: 'MANUAL_IMMEDIATE' },
      tier: 1,
    })
    worker.accept(records(0, 2))
    await end(0)
    expect(running()).toEqual([])
    commit()
    await runtime.advance(0)
    expect(running()).toEqual([1])
  })
})
