import { StateError } from '@waybill/core'
import { createVirtualRuntime } from '@waybill/sim'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { HeldRow, type Hold } from '../../src/claim/held-row.ts'
import { Dispatcher, type DispatcherDeps } from '../../src/dispatch/dispatcher.ts'
import { type Delivered, done } from '../../src/dispatch/row-outcome.ts'
import { orderEvent } from '../support/outbox-harness.ts'

const free: Hold = { fence: { kind: 'NONE' }, mayStart: () => true }

function row(n: number, source: 'HOT' | 'COLD', hold: Hold = free): HeldRow {
  return new HeldRow(BigInt(n), orderEvent(n), 0, source, hold)
}

/** Enqueues like a transaction that commits right after its write. */
function enqueueHot(dispatcher: Dispatcher, hot: HeldRow): boolean {
  return dispatcher.reserveHot(1) && dispatcher.enqueueReserved(hot)
}

/** A dispatcher whose deliveries end when the test says so. */
function dispatching(parts: Partial<DispatcherDeps> = {}) {
  const { clock } = createVirtualRuntime(1)
  const running = new Map<bigint, (outcome: Delivered) => void>()
  const started: string[] = []
  const settled: bigint[] = []
  const abandoned: bigint[] = []
  const waiting: string[] = []
  const settler = {
    hasRoom: true,
    urges: 0,
    settle: (one: HeldRow) => void settled.push(one.seq),
    flush: () => void settler.urges++,
  }
  const dispatcher = new Dispatcher({
    workerCount: 2,
    hotQueueCapacity: 10,
    coldQueueCapacity: 10,
    clock,
    settler,
    isModeOpen: () => true,
    deliver: (one) =>
      new Promise((resolve) => {
        const held = one
        started.push(held.source)
        running.set(held.seq, resolve)
      }),
    abandoned: (one) => void abandoned.push(one.seq),
    waits: (one, destination) => void waiting.push(`${one.seq} ${destination}`),
    onColdRoom: () => {},
    ...parts,
  })
  const end = async (seq: bigint, outcome: Delivered = done): Promise<void> => {
    running.get(seq)?.(outcome)
    running.delete(seq)
    await Promise.resolve()
    await Promise.resolve()
  }
  const endAny = async (): Promise<void> => {
    for (const seq of running.keys()) return end(seq)
  }
  return { dispatcher, running, started, settled, abandoned, waiting, settler, end, endAny }
}

describe('workers', () => {
  test('take two hot rows for each cold one', async () => {
    const { dispatcher, started, endAny } = dispatching({ workerCount: 1 })
    dispatcher.start()
    enqueueHot(dispatcher, row(0, 'HOT'))
    for (let n = 1; n <= 6; n++) enqueueHot(dispatcher, row(n, 'HOT'))
    for (let n = 11; n <= 13; n++) dispatcher.enqueueCold(row(n, 'COLD'))
    for (let n = 0; n < 9; n++) await endAny()
    expect(started.join(' ')).toBe('HOT HOT COLD HOT HOT COLD HOT HOT COLD HOT')
  })

  test('serve whatever there is: any mix of both queues ends empty, each row once, the cold one never starved', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(20), fc.nat(20), async (hot, cold) => {
        const { dispatcher, started, running, endAny } = dispatching({
          workerCount: 1,
          hotQueueCapacity: 30,
          coldQueueCapacity: 30,
        })
        dispatcher.start()
        enqueueHot(dispatcher, row(0, 'HOT'))
        for (let n = 1; n <= hot; n++) enqueueHot(dispatcher, row(n, 'HOT'))
        for (let n = 1; n <= cold; n++) dispatcher.enqueueCold(row(100 + n, 'COLD'))
        while (running.size > 0) await endAny()
        expect(started.length).toBe(1 + hot + cold)
        const coldTurns = started.flatMap((source, at) => (source === 'COLD' ? [at] : []))
        expect(coldTurns.length).toBe(cold)
        // The n-th cold row waits for at most two hot ones each.
        for (const [nth, at] of coldTurns.entries()) expect(at).toBeLessThanOrEqual(3 * nth + 2)
      }),
    )
  })

  test('run as many at a time as there are, each until its listener has ended', async () => {
    const { dispatcher, running, end } = dispatching({ workerCount: 2 })
    dispatcher.start()
    for (let n = 0; n < 4; n++) dispatcher.enqueueCold(row(n, 'COLD'))
    expect([...running.keys()]).toEqual([0n, 1n])
    await end(1n)
    expect([...running.keys()]).toEqual([0n, 2n])
  })

  test('of which there are none deliver nothing', () => {
    const { dispatcher, running } = dispatching({ workerCount: 0 })
    dispatcher.start()
    expect(dispatcher.enqueueCold(row(1, 'COLD'))).toBe(true)
    expect(running.size).toBe(0)
  })

  test('start nothing without room for outcomes, and go on when there is some', async () => {
    const { dispatcher, running, settler } = dispatching()
    dispatcher.start()
    settler.hasRoom = false
    dispatcher.enqueueCold(row(1, 'COLD'))
    expect(running.size).toBe(0)
    settler.hasRoom = true
    dispatcher.pump()
    expect(running.size).toBe(1)
  })

  test('flush the settler when nothing runs or waits', async () => {
    const { dispatcher, settler, end } = dispatching()
    dispatcher.start()
    dispatcher.enqueueCold(row(1, 'COLD'))
    dispatcher.enqueueCold(row(2, 'COLD'))
    settler.urges = 0
    await end(1n)
    expect(settler.urges).toBe(0)
    await end(2n)
    expect(settler.urges).toBe(1)
  })
})

describe('queues', () => {
  test('refuse a row when they are full or not open, and never throw', () => {
    const { dispatcher } = dispatching({ workerCount: 0, hotQueueCapacity: 1, coldQueueCapacity: 2 })
    expect(dispatcher.enqueueCold(row(0, 'COLD'))).toBe(false)
    dispatcher.start()
    expect([1, 2, 3].map((n) => dispatcher.enqueueCold(row(n, 'COLD')))).toEqual([true, true, false])
    expect([4, 5].map((n) => enqueueHot(dispatcher, row(n, 'HOT')))).toEqual([true, false])
    dispatcher.close()
    expect([dispatcher.enqueueCold(row(6, 'COLD')), dispatcher.coldQueueRemainingCapacity]).toEqual([false, 0])
  })

  test('say how much room the cold one has', () => {
    const { dispatcher } = dispatching({ workerCount: 0, coldQueueCapacity: 3 })
    dispatcher.start()
    expect(dispatcher.coldQueueRemainingCapacity).toBe(3)
    dispatcher.enqueueCold(row(1, 'COLD'))
    expect(dispatcher.coldQueueRemainingCapacity).toBe(2)
  })

  test('keep reserved places free for open transactions', () => {
    const { dispatcher } = dispatching({ workerCount: 0, hotQueueCapacity: 2 })
    dispatcher.start()
    expect([dispatcher.reserveHot(2), dispatcher.reserveHot(1), enqueueHot(dispatcher, row(1, 'HOT'))]).toEqual([
      true,
      false,
      false,
    ])
    dispatcher.cancelHot(1)
    expect([dispatcher.enqueueReserved(row(2, 'HOT')), dispatcher.reserveHot(1), dispatcher.reserveHot(1)]).toEqual([
      true,
      true,
      false,
    ])
  })
})

describe('a row whose lease has ended', () => {
  test('is not started', () => {
    const { dispatcher, running, abandoned } = dispatching()
    dispatcher.start()
    dispatcher.enqueueCold(row(1, 'COLD', { ...free, mayStart: () => false }))
    expect([running.size, abandoned]).toEqual([0, [1n]])
  })

  test('and whose listener failed is given up without an outcome; one that succeeded is settled', async () => {
    const { dispatcher, settled, abandoned, end } = dispatching()
    dispatcher.start()
    const rows = [row(1, 'COLD'), row(2, 'COLD')]
    for (const one of rows) dispatcher.enqueueCold(one)
    for (const one of rows) one.lose(new StateError('lost'))
    await end(1n, { kind: 'RETRY', delayMs: 1, error: 'aborted' })
    await end(2n)
    expect([abandoned, settled]).toEqual([[1n], [2n]])
  })
})

describe('ending', () => {
  test('is quiet when nothing is queued, reserved or running', async () => {
    const { dispatcher, end } = dispatching({ workerCount: 1 })
    dispatcher.start()
    dispatcher.reserveHot(1)
    dispatcher.enqueueCold(row(1, 'COLD'))
    dispatcher.close()
    let isQuiet = false
    const becomeQuiet = async (): Promise<void> => {
      await dispatcher.quiet()
      isQuiet = true
    }
    const quiet = becomeQuiet()
    await end(1n)
    expect(isQuiet).toBe(false)
    dispatcher.enqueueReserved(row(2, 'HOT'))
    await end(2n)
    await quiet
    expect(isQuiet).toBe(true)
  })

  test('by cutting off gives up what is queued, tells what runs, and waits for that alone', async () => {
    const { dispatcher, abandoned, end } = dispatching({ workerCount: 1 })
    dispatcher.start()
    const first = row(1, 'COLD')
    dispatcher.enqueueCold(first)
    dispatcher.enqueueCold(row(2, 'COLD'))
    enqueueHot(dispatcher, row(3, 'HOT'))
    dispatcher.reserveHot(1)
    dispatcher.cutOff()
    expect([new Set(abandoned), first.signal.aborted]).toEqual([new Set([2n, 3n]), true])
    const quiet = dispatcher.quiet()
    await end(1n, { kind: 'RETRY', delayMs: 1, error: 'aborted' })
    await quiet
    expect(dispatcher.enqueueReserved(row(4, 'HOT'))).toBe(false)
  })
})
