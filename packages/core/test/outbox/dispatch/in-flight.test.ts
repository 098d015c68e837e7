import { createVirtualRuntime } from '@waybill/sim'
import { describe, expect, test } from 'vitest'
import { InFlight } from '../../../src/outbox/dispatch/in-flight.ts'

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
    expect([inFlight.reserve('a'), inFlight.tryAcquire('a', 'row'), inFlight.holderOf('a')]).toEqual([
      true,
      false,
      undefined,
    ])
    inFlight.fulfil('a', 'row')
    expect([inFlight.holderOf('a'), [...inFlight.rows()]]).toEqual(['row', ['row']])
    inFlight.release('a', 'row')
    expect(inFlight.size).toBe(0)
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
  const seen = await inFlight.duringLook(async () => {
    inFlight.release('a', 'row')
    await Promise.resolve()
    return inFlight.tryAcquire('a', 'stale answer')
  })
  expect(seen).toBe(false)
  expect(inFlight.tryAcquire('a', 'later')).toBe(true)
})
