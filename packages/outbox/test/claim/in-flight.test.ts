import { createVirtualRuntime } from '@waybill/sim'
import { describe, expect, test } from 'vitest'
import { InFlight } from '../../src/claim/in-flight.ts'

function tracker(ttlMs?: number) {
  const runtime = createVirtualRuntime(1)
  return { runtime, inFlight: new InFlight<string>(runtime.clock, ttlMs) }
}

describe('an event in flight', () => {
  test('is taken once, until it is released', () => {
    const { inFlight } = tracker()
    expect([inFlight.tryAcquire('a', 'row'), inFlight.tryAcquire('a', 'other')]).toEqual([true, false])
    inFlight.release('a', 'row')
    expect(inFlight.tryAcquire('a', 'other')).toBe(true)
  })

  test('is released only by the row that holds it; of an unknown id nothing happens', () => {
    const { inFlight } = tracker()
    inFlight.tryAcquire('a', 'row')
    inFlight.release('a', 'other')
    inFlight.release('unknown', 'row')
    expect([inFlight.tryAcquire('a', 'other'), inFlight.size]).toEqual([false, 1])
  })

  test('is held by a reservation before its row exists', () => {
    const { inFlight } = tracker()
    const reservation = inFlight.reserve(['a', 'b'])
    expect([inFlight.tryAcquire('a', 'row'), inFlight.holderOf('a'), inFlight.has('b')]).toEqual([
      false,
      undefined,
      true,
    ])
    reservation?.fulfil(['row a', 'row b'])
    expect([inFlight.holderOf('a'), [...inFlight.rows()]]).toEqual(['row a', ['row a', 'row b']])
    inFlight.release('a', 'row a')
    expect(inFlight.size).toBe(1)
  })

  test('is reserved with all others of its write or with none, and free again when that is cancelled', () => {
    const { inFlight } = tracker()
    inFlight.tryAcquire('b', 'row')
    expect([inFlight.reserve(['a', 'b', 'c']), inFlight.size]).toEqual([undefined, 1])
    const reservation = inFlight.reserve(['a', 'c'])
    expect(inFlight.size).toBe(3)
    reservation?.cancel()
    expect([inFlight.has('a'), inFlight.has('b'), inFlight.has('c')]).toEqual([false, true, false])
  })

  test('is not freed by a reservation that it was taken from', async () => {
    const { inFlight, runtime } = tracker(100)
    const reservation = inFlight.reserve(['a'])
    await runtime.advance(100)
    expect(inFlight.tryAcquire('a', 'other')).toBe(true)
    reservation?.cancel()
    expect(inFlight.holderOf('a')).toBe('other')
  })

  test('without a time to live is held for ever', async () => {
    const { inFlight, runtime } = tracker()
    inFlight.tryAcquire('a', 'row')
    await runtime.advance(10 ** 9)
    expect(inFlight.tryAcquire('a', 'other')).toBe(false)
  })

  test('with one may be taken again when it is stale, and the late release of the first changes nothing', async () => {
    const { inFlight, runtime } = tracker(100)
    inFlight.tryAcquire('a', 'row')
    await runtime.advance(99)
    expect(inFlight.tryAcquire('a', 'other')).toBe(false)
    await runtime.advance(1)
    expect(inFlight.tryAcquire('a', 'other')).toBe(true)
    inFlight.release('a', 'row')
    expect(inFlight.holderOf('a')).toBe('other')
  })
})

test('what is released during a look at the table stays in flight until the look is over', async () => {
  const { inFlight } = tracker()
  inFlight.tryAcquire('a', 'row')
  const seen = await inFlight.duringQuery(async () => {
    inFlight.release('a', 'row')
    await Promise.resolve()
    return inFlight.tryAcquire('a', 'stale answer')
  })
  expect(seen).toBe(false)
  expect(inFlight.tryAcquire('a', 'later')).toBe(true)
})

test('I24 the bytes of an event count from its place to its release, by where it came from', async () => {
  const { inFlight, runtime } = tracker(100)
  const places = inFlight.reserve(['a', 'b'], [10, 20])
  inFlight.tryAcquire('c', 'row', { lane: 'RETRY', bytes: 300 })
  expect([inFlight.bytes, inFlight.bytesOf('HOT'), inFlight.bytesOf('RETRY')]).toEqual([330, 30, 300])
  expect(inFlight.reserve(['d', 'c'], [1_000, 1])).toBeUndefined()
  places?.cancel()
  places?.cancel()
  expect(inFlight.bytes).toBe(300)
  await runtime.advance(100)
  inFlight.tryAcquire('c', 'again', { lane: 'NEW', bytes: 40 })
  inFlight.release('c', 'row')
  expect([inFlight.bytes, inFlight.bytesOf('NEW')]).toEqual([40, 40])
  inFlight.release('c', 'again')
  expect(inFlight.bytes).toBe(0)
})
