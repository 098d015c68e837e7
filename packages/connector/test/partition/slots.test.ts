import { expect, test } from 'vitest'
import { Slots, slotsFor } from '../../src/partition/slots.ts'

test('as many are given as there are, and who waited longest is called first', () => {
  const slots = new Slots(2)
  expect([slots.tryTake(), slots.tryTake(), slots.tryTake()]).toEqual([true, true, false])
  const called: string[] = []
  const first = (): void => void called.push(slots.tryTake() ? 'first' : 'nobody')
  const second = (): void => void called.push(slots.tryTake() ? 'second' : 'nobody')
  slots.whenFree(first)
  slots.whenFree(second)
  slots.whenFree(first) // Keeps its place.
  expect(slots.isContended).toBe(true)
  slots.release()
  expect(called).toEqual(['first'])
  slots.release()
  expect(called).toEqual(['first', 'second'])
  expect(slots.isContended).toBe(false)
  expect(slots.taken).toBe(2)
})

test('the time counts in which at least one is taken', () => {
  let now = 0
  const slots = new Slots(2, { monotonic: () => now })
  now = 10
  slots.tryTake()
  now = 20
  slots.tryTake()
  expect(slots.busyMs).toBe(10)
  now = 30
  slots.release()
  slots.release()
  now = 50
  expect(slots.busyMs).toBe(20)
})

test('who does not wait any more is not called', () => {
  const slots = new Slots(1)
  slots.tryTake()
  let calls = 0
  const wake = (): void => void calls++
  slots.whenFree(wake)
  slots.forget(wake)
  slots.release()
  expect(calls).toBe(0)
})

test('a slot that whoever is called does not take goes to the next who waits', () => {
  const slots = new Slots(1)
  slots.tryTake()
  const called: string[] = []
  slots.whenFree(() => void called.push('paused meanwhile'))
  slots.whenFree(() => void called.push(slots.tryTake() ? 'took it' : 'found none'))
  slots.whenFree(() => void called.push('too early'))
  slots.release()
  expect(called).toEqual(['paused meanwhile', 'took it'])
  expect(slots.isContended).toBe(true)
})

test('PARTITION is bounded by its partitions alone', () => {
  const slots = slotsFor({ parallelism: 'PARTITION', maxInFlight: 1 })
  expect([slots.tryTake(), slots.tryTake()]).toEqual([true, true])
  const bounded = slotsFor({ parallelism: 'KEY', maxInFlight: 1 })
  expect([bounded.tryTake(), bounded.tryTake()]).toEqual([true, false])
})
