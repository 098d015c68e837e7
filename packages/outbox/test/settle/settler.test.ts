import { createMemoryLogger, StateError } from '@waybill/core'
import type { LeaseFence } from '@waybill/outbox/internal'
import { createVirtualRuntime } from '@waybill/sim'
import { describe, expect, test } from 'vitest'
import { done, type Outcome } from '../../src/dispatch/row-outcome.ts'
import { type SettleOrder, type SettleResult, Settler } from '../../src/settle/settler.ts'
import { MemoryOutbox } from '../support/memory-outbox.ts'
import { orderEvent } from '../support/outbox-harness.ts'

const none: LeaseFence = { kind: 'NONE' }
const lease: LeaseFence & { kind: 'LEASE' } = { kind: 'LEASE', owner: 'a', version: 7n }

function settling(rowCount: number, order?: SettleOrder<{ readonly eventId: string }>) {
  const logger = createMemoryLogger()
  const runtime = createVirtualRuntime(1, { logger })
  const outbox = new MemoryOutbox(runtime)
  const rows = outbox
    .add(...Array.from({ length: rowCount }, (_, n) => orderEvent(n)))
    .map((row) => Object.assign(row, { eventId: row.event.eventId }))
  const statements: string[] = []
  const spied = (name: 'markDone' | 'markRetry' | 'markDead') => ({
    [name]: (...args: [never, readonly unknown[], never, never]) => {
      statements.push(`${name} ${args[1].length}`)
      return outbox.store[name](...(args as unknown as [never, never, never, never]))
    },
  })
  const settled: [id: string, kind: string, result: SettleResult][] = []
  let rooms = 0
  const settler = new Settler<(typeof rows)[number]>({
    database: outbox,
    store: {
      ...outbox.store,
      ...spied('markDone'),
      ...spied('markRetry'),
      ...spied('markDead'),
    },
    whenDone: 'KEEP',
    runtime,
    order,
    settled: (row, outcome, result) => settled.push([row.eventId, outcome.kind, result]),
    finished: () => {},
    onRoom: () => void rooms++,
  })
  const settleAll = (fence: LeaseFence, outcome: Outcome = done): void => {
    for (const row of rows) settler.settle(row, fence, outcome)
  }
  return { logger, runtime, outbox, rows, settler, settled, settleAll, statements, rooms: () => rooms }
}

/** Settles rows of one key, of which none is refused before the test says so. */
function ordered(rowCount: number) {
  const refused = new Set<string>()
  return {
    refused,
    ...settling(rowCount, {
      keyOf: () => 'key',
      isRefused: ({ eventId }) => refused.has(eventId),
      isLost: () => false,
    }),
  }
}

/** The key of a row: one of ten. */
function keyOf({ eventId }: { readonly eventId: string }): string {
  return `key-${Number(eventId.split('-')[1]) % 10}`
}

/** Settles rows of ten keys, of which the first is locked. */
function lockedFirst(rowCount: number) {
  const scene = settling(rowCount, { keyOf, isRefused: () => false, isLost: () => false })
  const seq = scene.rows[0]?.seq as bigint
  scene.outbox.locked.add(seq)
  return { ...scene, seq }
}

describe('outcomes go out', () => {
  test('at once when nothing else runs', async () => {
    const { runtime, settler, settleAll, statements, settled } = settling(3)
    settleAll(none)
    settler.flush()
    await runtime.advance(0)
    expect([statements, settled.length]).toEqual([['markDone 3'], 3])
  })

  test('after a few milliseconds otherwise', async () => {
    const { runtime, settleAll, statements } = settling(3)
    settleAll(none)
    await runtime.advance(4)
    expect(statements).toEqual([])
    await runtime.advance(1)
    expect(statements).toEqual(['markDone 3'])
  })

  test('at 500 without a wait, in statements of 500', async () => {
    const { runtime, settleAll, statements } = settling(1_200)
    settleAll(none)
    await runtime.advance(0)
    expect(statements.slice(0, 2)).toEqual(['markDone 500', 'markDone 500'])
    await runtime.advance(10)
    expect(statements.slice(2)).toEqual(['markDone 200'])
  })

  test('in one statement for each fence and kind', async () => {
    const { runtime, outbox, rows, settler, statements } = settling(4)
    for (const row of rows.slice(2)) Object.assign(row, { lockedBy: 'a', version: 7n })
    settler.settle(rows[0] as never, none, done)
    settler.settle(rows[1] as never, none, { kind: 'RETRY', delayMs: 100, error: 'later' })
    settler.settle(rows[2] as never, lease, done)
    settler.settle(rows[3] as never, lease, { kind: 'DEAD', error: 'never' })
    await runtime.advance(10)
    expect(statements.toSorted()).toEqual(['markDead 1', 'markDone 1', 'markDone 1', 'markRetry 1'])
    expect(outbox.rows.map(({ status, attempts, lastError }) => [status, attempts, lastError])).toEqual([
      ['DONE', 0, null],
      ['RETRY', 1, 'later'],
      ['DONE', 0, null],
      ['DEAD', 1, 'never'],
    ])
  })

  test('in larger batches while the database is slow, two statements at a time', async () => {
    const { runtime, outbox, rows, settler, statements } = settling(300)
    outbox.latencyMs = 50
    for (const row of rows) {
      settler.settle(row, none, done)
      settler.flush()
      await runtime.advance(1)
    }
    await runtime.advance(200)
    expect(statements.length).toBeLessThan(16)
    expect(outbox.withStatus('DONE').length).toBe(300)
  })

  test('although none follows those that piled up behind slow statements', async () => {
    const { runtime, outbox, rows, settler } = settling(2_300)
    outbox.latencyMs = 100
    const settle = (from: number, upTo: number): void => {
      for (const row of rows.slice(from, upTo)) settler.settle(row, none, done)
    }
    settle(0, 1_000)
    settle(1_000, 1_700)
    await runtime.advance(10)
    settle(1_700, 2_300)
    await runtime.advance(1_000)
    expect([outbox.withStatus('DONE').length, settler.unsettled]).toEqual([2_300, 0])
  })

  test('two statements at a time, also after rows were locked', async () => {
    const { runtime, outbox, rows, settler } = settling(400)
    let [running, most] = [0, 0]
    outbox.before = async (call) => {
      if (call !== 'markDone') return
      most = Math.max(most, ++running)
      await runtime.timers.sleep(20)
      running--
    }
    for (const row of rows.slice(0, 10)) {
      outbox.locked.add(row.seq)
      settler.settle(row, none, done)
      settler.flush()
      await runtime.advance(100)
    }
    outbox.locked.clear()
    await runtime.advance(5_000)
    most = 0
    for (const row of rows.slice(10)) {
      settler.settle(row, none, done)
      settler.flush()
      await runtime.advance(1)
    }
    await runtime.advance(1_000)
    expect([most, outbox.withStatus('DONE').length]).toEqual([2, 400])
  })
})

describe('I22 outcomes of a key', () => {
  test('follow each other, one statement at a time, in larger batches while one is unanswered', async () => {
    const { runtime, outbox, rows, settler, statements } = ordered(300)
    outbox.latencyMs = 50
    for (const row of rows) {
      settler.settle(row, none, done)
      settler.flush()
      await runtime.advance(1)
    }
    await runtime.advance(200)
    expect(statements.length).toBeLessThan(9)
    expect(outbox.withStatus('DONE').length).toBe(300)
  })

  test('are not sent behind a fenced one that is refused', async () => {
    const { runtime, outbox, rows, settler, settled, statements, refused } = ordered(3)
    outbox.latencyMs = 50
    Object.assign(rows[1] as object, { lockedBy: 'a', version: 7n })
    settler.settle(rows[0] as never, lease, done)
    settler.flush()
    await runtime.advance(1)
    settler.settle(rows[1] as never, lease, done)
    for (const { eventId } of rows) refused.add(eventId)
    await runtime.advance(100)
    settler.settle(rows[2] as never, lease, done)
    expect(settled).toEqual(rows.map(({ eventId }) => [eventId, 'DONE', 'FENCED']))
    expect([statements, settler.unsettled]).toEqual([['markDone 1'], 0])
  })

  test.each(['NEW', 'RETRY'])(
    'are fenced when a repetition does not find them and they are %s still',
    async (status) => {
      const { runtime, outbox, rows, settleAll, settled } = ordered(2)
      for (const row of rows) Object.assign(row, { status, lockedBy: 'a', version: 7n })
      let failures = 1
      outbox.before = (call) => {
        if (call !== 'markDone') return
        // The first attempt gets through to nothing, and the lease is over at the second.
        if (failures-- > 0) throw new StateError('the database is away')
        Object.assign(rows[0] as object, { lockedBy: 'b' })
      }
      settleAll(lease)
      await runtime.advance(1_000)
      expect(settled).toEqual([
        ['event-0', 'DONE', 'FENCED'],
        ['event-1', 'DONE', 'CHANGED'],
      ])
    },
  )
})

describe('L2 a row that another transaction has locked', () => {
  test('delays only the outcomes of its key, until it is free', async () => {
    const { runtime, outbox, settler, settleAll, settled, seq } = lockedFirst(1_200)
    settleAll(none)
    await runtime.advance(5_000)
    expect([outbox.withStatus('DONE').length, settler.unsettled, settler.locked]).toEqual([1_080, 120, 120])
    outbox.locked.delete(seq)
    await runtime.advance(2_000)
    expect([outbox.withStatus('DONE').length, settler.unsettled, settler.locked]).toEqual([1_200, 0, 0])
    expect(new Set(settled.map(([, , result]) => result))).toEqual(new Set(['CHANGED']))
  })

  test('I22 lets no later outcome of its key pass, at any time', async () => {
    const { runtime, outbox, settleAll, seq } = lockedFirst(600)
    settleAll(none)
    for (let ms = 0; ms < 3_000; ms += 10) {
      await runtime.advance(10)
      const pending = new Set<string>()
      for (const row of outbox.rows) {
        const key = keyOf({ eventId: row.event.eventId })
        if (row.status === 'NEW') pending.add(key)
        else expect(pending.has(key)).toBe(false)
      }
      if (ms === 1_000) outbox.locked.delete(seq)
    }
    expect(outbox.withStatus('DONE').length).toBe(600)
  })

  test('stalls its key, and no other, once 500 outcomes wait', async () => {
    const { runtime, settler, rows, settleAll } = lockedFirst(40)
    settleAll(none)
    await runtime.advance(1_000)
    expect(settler.stalls('key-0')).toBe(false)
    for (let n = 0; n < 496; n++) settler.settle(rows[10] as never, none, done)
    await runtime.advance(100)
    expect(['key-0', 'key-1'].map((key) => settler.stalls(key))).toEqual([true, false])
    expect(keyOf({ eventId: rows[10]?.eventId ?? '' })).toBe('key-0')
  })

  test('is waited for by one statement at a time, so that leases can be renewed in between', async () => {
    const { runtime, outbox, rows, settler } = settling(200)
    for (const { seq } of rows) outbox.locked.add(seq)
    let running = 0
    const concurrent: number[] = []
    outbox.before = async (call) => {
      if (call !== 'markDone') return
      concurrent.push(++running)
      await runtime.timers.sleep(200)
      running--
    }
    for (const row of rows) {
      settler.settle(row, none, done)
      settler.flush()
      await runtime.advance(20)
    }
    // The first two started before a lock was known.
    expect(new Set(concurrent.slice(2))).toEqual(new Set([1]))
    expect(concurrent.length).toBeGreaterThan(10)
  })

  test('does not make a finish fenced whose first answer was lost', async () => {
    const { runtime, outbox, rows, settleAll, settled } = settling(1)
    const seq = rows[0]?.seq as bigint
    let failures = 1
    // The first attempt still runs in the database when it is repeated, and keeps the row locked.
    outbox.after = (call) => {
      if (call !== 'markDone' || failures-- <= 0) return
      outbox.locked.add(seq)
      throw new StateError('the answer was lost')
    }
    settleAll(none)
    await runtime.advance(1_000)
    outbox.locked.delete(seq)
    await runtime.advance(2_000)
    expect(settled).toEqual([['event-0', 'DONE', 'UNKNOWN']])
  })

  test('is watched for again after all locks have ended', async () => {
    const { runtime, outbox, rows, settler } = settling(2)
    for (const { seq } of rows) outbox.locked.add(seq)
    for (const row of rows) {
      settler.settle(row, none, done)
      await runtime.advance(3_000)
      outbox.locked.delete(row.seq)
      await runtime.advance(3_000)
    }
    expect(outbox.withStatus('DONE').length).toBe(2)
  })

  test('leaves its outcomes in the table when the drain is given up', async () => {
    const { runtime, outbox, settler, settleAll, settled } = lockedFirst(20)
    settleAll(none)
    await runtime.advance(100)
    const deadline = new AbortController()
    const drained = settler.drain(deadline.signal)
    deadline.abort()
    await drained
    outbox.locked.clear()
    await runtime.advance(5_000)
    expect([outbox.withStatus('NEW').length, settled.length, settler.unsettled]).toEqual([2, 18, 2])
  })
})

describe('a finish that does not find its row', () => {
  test('missing at the first attempt was fenced: another node has it', async () => {
    const { runtime, rows, settleAll, settled } = settling(2)
    Object.assign(rows[1] as object, { lockedBy: 'a', version: 7n })
    settleAll(lease)
    await runtime.advance(10)
    expect(settled).toEqual([
      ['event-0', 'DONE', 'FENCED'],
      ['event-1', 'DONE', 'CHANGED'],
    ])
  })

  test('after an answer was lost was most likely its own, and is not counted as fenced', async () => {
    const { runtime, outbox, rows, settleAll, settled, statements, logger } = settling(1)
    Object.assign(rows[0] as object, { lockedBy: 'a', version: 7n })
    let failures = 2
    outbox.after = (call) => {
      if (call === 'markDone' && failures-- > 0) throw new StateError('the answer was lost')
    }
    settleAll(lease)
    await runtime.advance(1_000)
    expect(statements.length).toBe(3)
    expect(settled).toEqual([['event-0', 'DONE', 'UNKNOWN']])
    expect(logger.lines.map(({ level }) => level)).toEqual(['ERROR', 'ERROR'])
  })
})

test('I23 a retry that costs no attempt leaves the count as it was', async () => {
  const { runtime, outbox, rows, settler } = settling(2)
  settler.settle(rows[0] as never, none, { kind: 'RETRY', delayMs: 100, error: 'later' })
  settler.settle(rows[1] as never, none, { kind: 'RETRY', delayMs: 100, error: 'away', isFree: true })
  await runtime.advance(10)
  expect(outbox.rows.map(({ status, attempts }) => [status, attempts])).toEqual([
    ['RETRY', 1],
    ['RETRY', 0],
  ])
})

test('an attempt whose finish was repeated after its answer was lost counts once', async () => {
  const { runtime, outbox, rows, settler, statements } = settling(1)
  let failures = 2
  outbox.after = (call) => {
    if (call === 'markRetry' && failures-- > 0) throw new StateError('the answer was lost')
  }
  const [row] = rows
  settler.settle({ ...row, attempts: 4 } as never, none, { kind: 'RETRY', delayMs: 60_000, error: 'later' })
  await runtime.advance(1_000)
  expect(statements).toEqual(['markRetry 1', 'markRetry 1', 'markRetry 1'])
  expect([row?.status, row?.attempts]).toEqual(['RETRY', 5])
})

test('a finish that never comes through is repeated, at growing distances of at most five seconds', async () => {
  const { runtime, outbox, settleAll, statements } = settling(1)
  outbox.before = () => {
    throw new StateError('the database is away')
  }
  settleAll(none)
  await runtime.advance(60_000)
  expect(statements.length).toBeGreaterThan(15)
  expect(statements.length).toBeLessThan(35)
})

test('without room for outcomes it says so, and tells when there is room again', async () => {
  const { runtime, settleAll, settler, rooms } = settling(2_000)
  expect(settler.hasRoom).toBe(true)
  settleAll(none)
  expect([settler.hasRoom, settler.unsettled, rooms()]).toEqual([false, 2_000, 0])
  await runtime.advance(100)
  expect([settler.hasRoom, settler.unsettled, rooms()]).toEqual([true, 0, 1])
})

describe('draining', () => {
  test('ends when everything is settled', async () => {
    const { runtime, outbox, settleAll, settler } = settling(10)
    outbox.latencyMs = 100
    settleAll(none)
    await runtime.run(() => settler.drain(new AbortController().signal))
    expect(outbox.withStatus('DONE').length).toBe(10)
    // At once: it does not linger for more.
    expect(runtime.clock.monotonic()).toBe(100)
    expect(runtime.pending).toBe(0)
  })

  test('that is given up before it begins writes nothing', async () => {
    const { runtime, outbox, settleAll, settler } = settling(1)
    settleAll(none)
    await settler.drain(AbortSignal.abort())
    await runtime.advance(1_000)
    expect(outbox.withStatus('NEW').length).toBe(1)
  })

  test('ends when its time is up, and leaves the rows as they are', async () => {
    const { runtime, outbox, settleAll, settler } = settling(1)
    outbox.before = () => {
      throw new StateError('the database is away')
    }
    settleAll(none)
    const deadline = new AbortController()
    runtime.timers.schedule(1_000, () => deadline.abort(new StateError('time is up')))
    await runtime.run(() => settler.drain(deadline.signal))
    expect(runtime.clock.monotonic()).toBe(1_000)
    expect(outbox.withStatus('NEW').length).toBe(1)
    await runtime.advance(10_000)
    expect(runtime.pending).toBe(0)
  })
})
