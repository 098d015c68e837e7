import { KafkaError, type OutRecord } from '@waybill/kafka'
import { describe, expect, test } from 'vitest'
import { deadLetterRecordOf } from '../../../src/records/dead-letter-record.ts'
import { done, failure, toDeadLetter, toTier, workerScene } from './worker-scene.ts'

const keys =
  (...names: string[]) =>
  (offset: number) => ({ key: Buffer.from(names[offset % names.length] as string) })

describe('records of a partition', () => {
  test('run one after another, in order', async () => {
    const { worker, records, running, end } = await workerScene()
    worker.accept(records(0, 3))
    expect(running()).toEqual([0])
    await end(0)
    expect(running()).toEqual([1])
    await end(1)
    await end(2)
    expect(worker.status()).toMatchObject({ watermark: 3n, running: 0, buffered: 0 })
  })

  test('run side by side where their keys differ', async () => {
    const { worker, records, running, end } = await workerScene({ binding: { parallelism: 'KEY' } })
    worker.accept(records(0, 4, keys('a', 'b')))
    expect(running()).toEqual([0, 1])
    await end(1)
    expect(running()).toEqual([0, 3])
    expect(worker.status().watermark).toBe(0n)
  })

  test('run side by side up to maxInFlight where order does not matter', async () => {
    const { worker, records, running, end } = await workerScene({
      binding: { parallelism: 'UNORDERED', maxInFlight: 2 },
    })
    worker.accept(records(0, 4))
    expect(running()).toEqual([0, 1])
    await end(0)
    expect(running()).toEqual([1, 2])
  })

  test('are committed up to the lowest that is not settled, with those settled above it', async () => {
    const { worker, records, end, commit } = await workerScene({ binding: { parallelism: 'UNORDERED' } })
    worker.accept(records(0, 3))
    await end(1)
    expect(commit()).toBe('0 wb1 s=0 o=1 r=0 d=0 k=0 h=0 b=AQ')
    expect(commit()).toBeUndefined()
    await end(0)
    expect(commit()).toBe('2 wb1 s=0 o=2 r=0 d=0 k=0 h=0 b=')
  })

  test('that an earlier owner settled ask for a commit when nothing else was fetched: those before them are gone', async () => {
    const committed = { offset: 0n, metadata: 'wb1 s=0 o=1 r=0 d=0 k=0 h=0 b=AQ' }
    const { worker, records, commit, state } = await workerScene({ committed })
    const before = state.changes
    worker.accept(records(1, 2))
    expect(state.changes).toBe(before + 1)
    expect(commit()).toBe('2 wb1 s=0 o=1 r=0 d=0 k=0 h=1 b=')
  })

  test('that an earlier owner settled above its commit are not delivered again', async () => {
    const committed = { offset: 0n, metadata: 'wb1 s=0 o=1 r=0 d=0 k=0 h=0 b=AQ' }
    const { worker, records, running, end, commit } = await workerScene({ committed })
    worker.accept(records(0, 3))
    await end(0)
    expect(running()).toEqual([2])
    await end(2)
    expect(commit()).toBe('3 wb1 s=0 o=3 r=0 d=0 k=0 h=0 b=')
  })

  test('leave holes in the log accounted for, also at its end', async () => {
    const { worker, records, state, end, commit } = await workerScene()
    worker.accept([...records(0, 1), ...records(5, 6)])
    await end(0)
    await end(5)
    state.position = 8n
    worker.polled()
    expect(commit()).toBe('8 wb1 s=0 o=2 r=0 d=0 k=0 h=6 b=')
  })

  test('of a group that somebody else committed for are counted anew, and that is told', async () => {
    const { problems, worker } = await workerScene({ committed: { offset: 5n, metadata: '' }, position: 5n })
    expect(problems).toEqual(['the commit has no metadata'])
    expect(worker.status().watermark).toBe(5n)
  })

  test('start anew when the log was cut and offsets mean other records', async () => {
    const { worker, records, running, end, problems } = await workerScene({ position: 10n })
    worker.accept(records(10, 12))
    worker.positionLost(3n)
    await end(10) // A late result of the old log changes nothing.
    worker.accept(records(3, 4))
    expect(running()).toEqual([3])
    await end(3)
    expect(worker.status().watermark).toBe(4n)
    expect(problems).toEqual([])
  })
})

describe('a log that was cut', () => {
  test('frees the lane of a record that waits for its commit', async () => {
    const { worker, records, running, end, runtime } = await workerScene({
      binding: { ackMode: 'MANUAL_IMMEDIATE' },
      position: 10n,
    })
    worker.accept(records(10, 11))
    await end(10)
    worker.positionLost(3n)
    worker.accept(records(3, 4))
    await runtime.advance(0)
    expect(running()).toEqual([3])
  })

  test('frees the lane of a record whose dead letter is confirmed only then', async () => {
    const { worker, records, running, end, confirm, problems } = await workerScene({
      binding: { orderingMode: 'STRICT' },
      position: 10n,
    })
    worker.accept(records(10, 11))
    await end(10, toDeadLetter)
    worker.positionLost(3n)
    worker.accept(records(3, 4))
    await confirm()
    expect(running()).toEqual([3])
    expect(worker.status().watermark).toBe(3n)
    expect(problems).toEqual([])
  })

  test('is fetched again although too much of it was buffered before', async () => {
    const { worker, records } = await workerScene({ binding: { maxBufferedRecords: 2 }, position: 10n })
    worker.accept(records(10, 13))
    expect(worker.status().pausedBy).toEqual(['BACKPRESSURE'])
    worker.positionLost(3n)
    expect(worker.status().pausedBy).toEqual([])
  })

  test('between what is settled and what was fetched is read again from what is settled, and none is passed over', async () => {
    const { worker, records, running, end, commit, calls, problems, state } = await workerScene({ position: 100n })
    worker.accept(records(100, 110))
    await end(100)
    worker.positionLost(105n)
    expect(calls).toContain('seek 101')
    await end(101) // Of the old log: what it was, the new one may have otherwise.
    expect(running()).toEqual([])
    worker.accept(records(101, 107))
    for (let offset = 101; offset < 107; offset++) await end(offset)
    expect(commit()).toBe('107 wb1 s=101 o=6 r=0 d=0 k=0 h=0 b=')
    expect(state.position).toBe(101n)
    expect(problems).toEqual([])
  })

  test('between what is settled and what was passed over at its end is read again too', async () => {
    const { worker, records, end, calls, state } = await workerScene()
    worker.accept(records(0, 2))
    state.position = 9n
    worker.polled()
    worker.positionLost(5n)
    await end(0)
    expect(calls).toContain('seek 0')
    expect(worker.status().watermark).toBe(0n)
  })

  test('goes on where reading does when that is behind what was fetched: nothing is read again', async () => {
    const { worker, records, running, calls } = await workerScene()
    worker.accept(records(0, 2))
    worker.positionLost(2n)
    worker.positionLost(7n)
    expect(calls.filter((call) => call.startsWith('seek'))).toEqual([])
    expect(running()).toEqual([0])
  })

  test('is committed where it is read now: the group would go on behind its end', async () => {
    const { worker, commit, state } = await workerScene({ position: 10n })
    worker.positionLost(3n)
    expect(state.urgent).toBe(1)
    expect(commit()).toBe('3 wb1 s=3 o=0 r=0 d=0 k=0 h=0 b=')
    expect(commit()).toBeUndefined()
  })

  test('L5: a commit of before that is acknowledged afterwards lets nothing run further ahead', async () => {
    const { worker, records, running, end, commit } = await workerScene({
      binding: { parallelism: 'UNORDERED', maxAhead: 3 },
      position: 1_000n,
    })
    worker.accept(records(1_000, 1_001))
    await end(1_000)
    const underWay = worker.pendingCommit()
    worker.positionLost(0n)
    worker.committed(underWay ?? [])
    expect(worker.status()).toMatchObject({ watermark: 0n, committed: 0n })
    worker.accept(records(0, 9))
    expect(running()).toEqual([0, 1, 2])
    await end(0)
    expect(commit()).toMatch(/^1 /)
    expect(running()).toEqual([1, 2, 3])
  })

  test('keeps a record waiting for its own commit when one of before is acknowledged', async () => {
    const { worker, records, running, end, commit, runtime } = await workerScene({
      binding: { ackMode: 'MANUAL_IMMEDIATE' },
      position: 10n,
    })
    worker.accept(records(10, 11))
    await end(10)
    const underWay = worker.pendingCommit()
    worker.positionLost(3n)
    worker.accept(records(3, 5))
    await runtime.advance(0)
    await end(3)
    worker.committed(underWay ?? [])
    await runtime.advance(0)
    expect(running()).toEqual([])
    expect(commit()).toMatch(/^4 /)
    await runtime.advance(0)
    expect(running()).toEqual([4])
  })
})

describe('bounds', () => {
  test('L5: nothing starts further than maxAhead from the acknowledged commit', async () => {
    const { worker, records, running, end, commit, state } = await workerScene({
      binding: { parallelism: 'UNORDERED', maxAhead: 3 },
    })
    worker.accept(records(0, 5))
    expect(running()).toEqual([0, 1, 2])
    expect(state.urgent).toBeGreaterThan(0)
    await end(0)
    expect(running()).toEqual([1, 2])
    commit()
    expect(running()).toEqual([1, 2, 3])
  })

  test('L5: a record whose turn comes late is not held up by those that are too far ahead', async () => {
    const { worker, records, running, end, commit } = await workerScene({
      binding: { parallelism: 'KEY', maxAhead: 3 },
    })
    worker.accept(records(0, 7, (offset) => ({ key: Buffer.from(offset < 2 ? 'slow' : `${offset}`) })))
    expect(running()).toEqual([0, 2])
    await end(2)
    await end(0)
    commit()
    expect(running()).toEqual([1, 3])
    await end(1)
    await end(3)
    commit()
    expect(running()).toEqual([4, 5, 6])
  })

  test('L5: a record that was turned away is not held up by those that are too far ahead', async () => {
    const { worker, records, running, end } = await workerScene({
      binding: { parallelism: 'UNORDERED', maxAhead: 3, maxInFlight: 2 },
    })
    worker.accept(records(0, 6))
    expect(running()).toEqual([0, 1])
    await end(0, { kind: 'PAUSE', cause: 'BREAKER', failure })
    await end(1, { kind: 'PAUSE', cause: 'BREAKER', failure })
    worker.resume('BREAKER')
    expect(running()).toEqual([0, 1])
  })

  test('L5: a blocked record runs again although others wait for it to be committed', async () => {
    const { worker, records, running, end, commit, runtime } = await workerScene({
      binding: { failureProfile: 'BLOCKING_UNLIMITED', parallelism: 'UNORDERED', maxAhead: 3 },
    })
    worker.accept(records(0, 6))
    await end(0, { kind: 'PAUSE', cause: 'BLOCKED', failure })
    await end(1)
    await end(2)
    commit()
    expect(running()).toEqual([])
    await runtime.advance(2_000)
    expect(running()).toEqual([0])
  })

  test('L5: a hole that is wider than maxAhead is committed, and what lies behind it runs', async () => {
    const { worker, records, running, commit } = await workerScene({ binding: { maxAhead: 3 } })
    worker.accept(records(10, 11))
    expect(running()).toEqual([])
    expect(commit()).toBe('10 wb1 s=0 o=0 r=0 d=0 k=0 h=10 b=')
    expect(running()).toEqual([10])
  })

  test('I17: fetching stops when too much is buffered, and goes on at half of it', async () => {
    const { worker, records, end, calls } = await workerScene({ binding: { maxBufferedRecords: 4 } })
    worker.accept(records(0, 5))
    expect(worker.status().pausedBy).toEqual(['BACKPRESSURE'])
    expect(calls).toEqual(['pause'])
    await end(0)
    expect(calls).toEqual(['pause'])
    await end(1)
    expect(calls).toEqual(['pause', 'resume'])
  })

  test('I17: bytes count as well', async () => {
    const { worker, records } = await workerScene({ binding: { maxBufferedBytes: 25 } })
    worker.accept(records(0, 4))
    expect(worker.status().pausedBy).toEqual(['BACKPRESSURE'])
  })
})

describe('MANUAL_IMMEDIATE', () => {
  test('starts a record only when the one before it is committed', async () => {
    const { worker, records, running, end, commit, runtime } = await workerScene({
      binding: { ackMode: 'MANUAL_IMMEDIATE' },
    })
    worker.accept(records(0, 2))
    await end(0)
    expect(running()).toEqual([])
    commit()
    await runtime.advance(0)
    expect(running()).toEqual([1])
  })
})

describe('a record that goes to a tier', () => {
  test('frees its lane at once and is settled when the tier has it', async () => {
    const { worker, records, running, end, publishes, confirm, commit } = await workerScene()
    worker.accept(records(0, 2))
    await end(0, toTier(1))
    expect(running()).toEqual([1])
    await end(1)
    expect(publishes.map(({ record }) => record.topic)).toEqual(['orders.retry-1'])
    expect(worker.status()).toMatchObject({ watermark: 0n, unconfirmed: 1 })
    await confirm()
    expect(commit()).toBe('2 wb1 s=0 o=1 r=1 d=0 k=0 h=0 b=')
  })

  test('halts its partition while it cannot be written, and the partition goes on by itself', async () => {
    const { worker, records, running, end, publishes, confirm } = await workerScene()
    worker.accept(records(0, 3))
    await end(0, toTier(1))
    publishes[0]?.watch.troubled(new Error('no leader'))
    await end(1)
    expect(running()).toEqual([])
    expect(worker.status()).toMatchObject({ pausedBy: ['DEAD_LETTER_FAILURE'], trouble: 'no leader', watermark: 0n })
    publishes[0]?.watch.recovered()
    await confirm()
    expect(running()).toEqual([2])
    expect(worker.status()).toMatchObject({ pausedBy: [], trouble: undefined, watermark: 2n })
  })
})

describe('a record that is too large for its tier', () => {
  const tooLarge = new KafkaError('Too large.', 'FATAL', { reason: 'MESSAGE_TOO_LARGE' })

  test('is a dead letter that says so, and is settled as one', async () => {
    const { worker, records, end, publishes, confirm, deadLetters, commit, runtime, problems } = await workerScene()
    worker.accept(records(0, 1))
    await end(0, toTier(1))
    publishes.shift()?.refuse(tooLarge)
    await runtime.advance(0)
    expect(publishes.map(({ record }) => record.topic)).toEqual(['orders.DLT'])
    expect(worker.status()).toMatchObject({ watermark: 0n, unconfirmed: 1 })
    await confirm()
    expect(commit()).toBe('1 wb1 s=0 o=0 r=0 d=1 k=0 h=0 b=')
    expect(deadLetters).toMatchObject([{ outcome: { reason: 'RETRIES_EXHAUSTED', failure: { attempts: 3 } } }])
    expect(deadLetterRecordOf(deadLetters[0]?.written as OutRecord)).toMatchObject({
      totalAttempts: 3,
      lastExceptionClass: 'RetryTooLargeError',
      lastExceptionMessage: expect.stringMatching(/orders\.retry-1.*Error: no/),
    })
    expect(problems).toEqual([])
  })

  test('is waited for, through both writes, when its partition is given back', async () => {
    const { worker, records, end, publishes, confirm, runtime } = await workerScene()
    worker.accept(records(0, 1))
    await end(0, toTier(1))
    const drained = worker.drain(5_000).then(() => runtime.clock.monotonic())
    publishes.shift()?.refuse(tooLarge)
    await runtime.advance(10)
    await confirm()
    expect([await drained, worker.status().watermark]).toEqual([10, 1n])
  })
})

describe('a dead letter', () => {
  test('is settled, counted and told once it is confirmed', async () => {
    const { worker, records, end, confirm, deadLetters, commit } = await workerScene()
    worker.accept(records(0, 1))
    await end(0, toDeadLetter)
    expect(deadLetters).toEqual([])
    await confirm()
    expect(deadLetters).toHaveLength(1)
    expect(commit()).toBe('1 wb1 s=0 o=0 r=0 d=1 k=0 h=0 b=')
  })

  test('that is not confirmed is no handler that runs without end', async () => {
    const { worker, records, end, runtime } = await workerScene({ binding: { orderingMode: 'STRICT' } })
    await runtime.advance(5)
    worker.accept(records(0, 2))
    expect(worker.status().runningSince).toBe(5)
    await end(0, toDeadLetter)
    expect(worker.status()).toMatchObject({ runningSince: undefined, unconfirmed: 1 })
  })

  test('holds up its partition until it is confirmed with STRICT', async () => {
    const { worker, records, running, end, confirm } = await workerScene({ binding: { orderingMode: 'STRICT' } })
    worker.accept(records(0, 2))
    await end(0, toDeadLetter)
    expect(running()).toEqual([])
    await confirm()
    expect(running()).toEqual([1])
  })

  test('L2: that is not confirmed holds up its lane with STRICT, and keeps no place of maxInFlight', async () => {
    const { worker, records, running, end, confirm } = await workerScene({
      binding: { orderingMode: 'STRICT', parallelism: 'KEY', maxInFlight: 1 },
    })
    worker.accept(records(0, 3, keys('a', 'b')))
    await end(0, toDeadLetter)
    expect(running()).toEqual([1])
    await end(1)
    expect(running()).toEqual([])
    await confirm()
    expect(running()).toEqual([2])
    expect(worker.status()).toMatchObject({ watermark: 2n, unconfirmed: 0 })
  })
})

describe('a record that stays', () => {
  test('because the circuit is open is the next one when calls are let through', async () => {
    const { worker, records, running, end } = await workerScene()
    worker.accept(records(0, 2))
    await end(0, { kind: 'PAUSE', cause: 'BREAKER', failure })
    expect(running()).toEqual([])
    expect(worker.status().pausedBy).toEqual(['BREAKER'])
    worker.resume('BREAKER')
    expect(running()).toEqual([0])
  })

  test('runs again at once when the circuit was closed meanwhile: nobody would say so a second time', async () => {
    const { worker, records, running, end, state } = await workerScene()
    worker.accept(records(0, 1))
    state.isRefusing = false
    await end(0, { kind: 'PAUSE', cause: 'BREAKER', failure })
    expect(running()).toEqual([0])
  })

  test('because it is exhausted waits for an operator', async () => {
    const { worker, records, running, end, calls, runtime } = await workerScene({
      binding: { orderingMode: 'STRICT', strictExhaustion: 'PAUSE_PARTITION' },
    })
    worker.accept(records(0, 2))
    await end(0, { kind: 'PAUSE', cause: 'EXHAUSTED', failure, scope: 'PARTITION' })
    await runtime.advance(1_000_000)
    expect(running()).toEqual([])
    expect(calls).not.toContain('pauseBinding')
    worker.resume('EXHAUSTED')
    expect(running()).toEqual([0])
    await end(0, { kind: 'PAUSE', cause: 'EXHAUSTED', failure, scope: 'BINDING' })
    expect(calls).toContain('pauseBinding')
  })

  test('because it is blocked runs again after waits that grow up to 30 s', async () => {
    const { worker, records, running, end, runtime } = await workerScene({
      binding: { failureProfile: 'BLOCKING_UNLIMITED' },
    })
    worker.accept(records(0, 2))
    const waits: number[] = []
    for (let attempt = 0; attempt < 8; attempt++) {
      const from = runtime.clock.monotonic()
      await end(0, { kind: 'PAUSE', cause: 'BLOCKED', failure })
      expect(running()).toEqual([])
      expect(worker.status().pausedBy).toEqual(['DELAY'])
      while (running().length === 0) await runtime.advance(100)
      waits.push(runtime.clock.monotonic() - from)
    }
    expect(running()).toEqual([0])
    expect(waits[0]).toBeLessThanOrEqual(1_600)
    expect(Math.max(...waits)).toBeLessThanOrEqual(30_100)
    expect(waits.at(-1)).toBeGreaterThan(10_000)
  })
})

describe('a tier', () => {
  test('I12: starts nothing before its time, and waits for it without fetching', async () => {
    const { worker, records, running, runtime, calls } = await workerScene({ tier: 1 })
    const now = runtime.clock.now()
    worker.accept(records(0, 2, (offset) => ({ timestamp: now - 4_000 + offset * 1_000 })))
    expect(running()).toEqual([])
    expect(worker.status().pausedBy).toEqual(['DELAY'])
    await runtime.advance(5_999)
    expect(running()).toEqual([])
    await runtime.advance(1)
    expect(running()).toEqual([0])
    expect(calls).toEqual(['pause', 'resume'])
  })

  test('L5: waits for the commit and not for time when its next record is due but too far ahead', async () => {
    const { worker, records, running, end, commit, runtime } = await workerScene({ tier: 1, binding: { maxAhead: 2 } })
    worker.accept(records(0, 4))
    await end(0)
    await end(1)
    expect([running(), worker.status().pausedBy, runtime.pending]).toEqual([[], [], 0])
    commit()
    expect(running()).toEqual([2])
  })

  test('I12: a time that lies ahead waits one delay from its first sight', async () => {
    const { worker, records, running, runtime } = await workerScene({ tier: 1 })
    worker.accept(records(0, 1, () => ({ timestamp: runtime.clock.now() + 3_600_000 })))
    await runtime.advance(9_999)
    expect(running()).toEqual([])
    await runtime.advance(1)
    expect(running()).toEqual([0])
  })
})

describe('giving a partition back', () => {
  test('starts nothing more, and waits for what runs and for what is not confirmed', async () => {
    const { worker, records, running, end, confirm, runtime } = await workerScene({
      binding: { parallelism: 'UNORDERED', maxInFlight: 2 },
    })
    worker.accept(records(0, 4))
    const drained = worker.drain(5_000).then(() => runtime.clock.monotonic())
    await end(0, toTier(1))
    expect(running()).toEqual([1])
    await end(1)
    await runtime.advance(10)
    await confirm()
    expect(await drained).toBe(10)
    expect(worker.status().watermark).toBe(2n)
  })

  test('cancels further attempts at once and aborts handlers at the deadline', async () => {
    const { worker, records, deliveries, runtime } = await workerScene()
    worker.accept(records(0, 1))
    const { scope } = deliveries[0] as (typeof deliveries)[number]
    const drained = worker.drain(5_000)
    expect([scope.retrying.aborted, scope.handling.aborted]).toEqual([true, false])
    await runtime.advance(5_000)
    await drained
    expect(scope.handling.aborted).toBe(true)
  })

  test('keeps a record that was cancelled unsettled', async () => {
    const { worker, records, end, runtime } = await workerScene()
    worker.accept(records(0, 2))
    const drained = worker.drain(5_000)
    await end(0, { kind: 'PAUSE', cause: 'CANCELLED', failure: undefined })
    await runtime.advance(0)
    await drained
    expect(worker.status()).toMatchObject({ watermark: 0n, running: 0, buffered: 0 })
  })

  test('I3: after it is lost a late result settles nothing and nothing is committed', async () => {
    const { worker, records, end, deliveries, commit, problems } = await workerScene({
      binding: { parallelism: 'UNORDERED' },
    })
    worker.accept(records(0, 2))
    await end(0)
    const { scope } = deliveries[0] as (typeof deliveries)[number]
    worker.lose()
    expect(scope.handling.aborted).toBe(true)
    await end(1, done)
    expect(commit()).toBeUndefined()
    expect(worker.status().watermark).toBe(1n)
    expect(problems).toEqual([])
  })

  test('lets whoever waits for a commit go when it is lost', async () => {
    const { worker, records, end, runtime } = await workerScene({ binding: { ackMode: 'MANUAL_IMMEDIATE' } })
    worker.accept(records(0, 1))
    await end(0)
    expect(worker.status().running).toBe(1)
    worker.lose()
    await runtime.advance(0)
    expect(worker.status().running).toBe(0)
  })
})

describe('a pause', () => {
  test('by an operator keeps what is buffered from starting until it is resumed, whatever else comes and goes', async () => {
    const { worker, records, running, end } = await workerScene()
    worker.accept(records(0, 3))
    worker.pause('OPERATOR')
    worker.pause('BREAKER')
    await end(0)
    worker.resume('BREAKER')
    expect(running()).toEqual([])
    worker.resume('OPERATOR')
    expect(running()).toEqual([1])
  })
})

describe('records that wait from when the binding kept order per key', () => {
  const kept = 'w=4 ws=0 wo=0 wr=0 wd=0 wk=4 wh=0 wp=0 wn=2 wb='
  const committed = { offset: 5n, metadata: `wb1 s=0 o=3 r=2 d=0 k=0 h=0 b= ${kept}` }

  test('stop their partition alone, which says why, and whose commit stays as it is', async () => {
    const { worker, commit, problems } = await workerScene({ committed, position: 5n })
    expect(worker.status()).toMatchObject({ pausedBy: ['EXHAUSTED'], watermark: 5n })
    expect(worker.status().trouble).toContain('Cannot run orders-0: 2 records are still in the waiting topic')
    worker.repeatCommit()
    worker.polled()
    expect([commit(), problems]).toEqual([undefined, []])
  })

  test('are not overtaken because an operator resumes the binding', async () => {
    const { worker } = await workerScene({ committed, position: 5n })
    worker.resume('EXHAUSTED')
    expect(worker.status().pausedBy).toEqual(['EXHAUSTED'])
  })
})
