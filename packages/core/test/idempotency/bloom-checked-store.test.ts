import { ArgumentError } from '@waybill/core'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createBloomCheckedStore } from '../../src/idempotency/bloom-checked-store.ts'
import type { IdempotencyStore } from '../../src/idempotency/idempotency-store.ts'
import { createMemoryIdempotencyStore } from '../../src/idempotency/memory-idempotency-store.ts'

/** Returns a store that counts its lookups. */
function countingStore(): IdempotencyStore & { looks: number } {
  const store = createMemoryIdempotencyStore()
  return {
    looks: 0,
    seen(consumer, key) {
      this.looks++
      return store.seen(consumer, key)
    },
    mark: (consumer, key) => store.mark(consumer, key),
  }
}

const numbers = (count: number): string[] => Array.from({ length: count }, (_, index) => `event-${index}`)

describe('C-17 a store behind a bloom filter', () => {
  test('is queried for everything until the filter knows its marks', async () => {
    const exact = countingStore()
    await exact.mark('shipping', 'of another process')
    const checked = createBloomCheckedStore(exact)
    expect(await checked.seen('shipping', 'of another process')).toBe(true)
    expect(await checked.seen('shipping', 'new')).toBe(false)
    expect(exact.looks).toBe(2)
  })

  test('is not queried for keys that were never marked, and decides about all others', async () => {
    const exact = countingStore()
    const checked = createBloomCheckedStore(exact, { expectedMarks: 1_000 })
    await exact.mark('shipping', 'before the start')
    await checked.load([{ consumer: 'shipping', key: 'before the start' }])
    for (const key of numbers(1_000)) expect(await checked.seen('shipping', key)).toBe(false)
    expect(exact.looks).toBeLessThan(30)
    expect(await checked.seen('shipping', 'before the start')).toBe(true)
    await checked.mark('shipping', 'event-7')
    expect(await checked.seen('shipping', 'event-7')).toBe(true)
  })

  test('is asked whether its place is there, if it can tell', async () => {
    const missing = new Error('no table')
    const lacking = createBloomCheckedStore({ ...createMemoryIdempotencyStore(), missing: async () => missing })
    expect(await lacking.missing?.()).toBe(missing)
    expect(await createBloomCheckedStore(createMemoryIdempotencyStore()).missing?.()).toBe(undefined)
  })

  test('decides alone though the filter is so full that everything may be there', async () => {
    const exact = countingStore()
    const checked = createBloomCheckedStore(exact, { expectedMarks: 1 })
    for (const key of numbers(500)) await checked.mark('shipping', key)
    await checked.load([])
    for (const key of numbers(500)) expect(await checked.seen('billing', key)).toBe(false)
    expect(exact.looks).toBe(500)
  })

  test.each([
    ['a text', 'abc', 'not "a"'],
    ['the keys alone', ['event-1'], 'not "event-1"'],
    ['pairs', [['shipping', 'event-1']], 'not a list of 2'],
    ['a mark without a key', [{ consumer: 'shipping' }], 'not an object'],
    ['null', [null], 'not null'],
    ['what has no items', 5, 'not 5'],
    ['nothing', undefined, 'not undefined'],
  ])('does not take %s for its marks, and is asked about everything as before', async (_, marks, shown) => {
    const exact = countingStore()
    const checked = createBloomCheckedStore(exact)
    const error = await checked.load(marks as never).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(ArgumentError)
    expect((error as Error).message).toContain(shown)
    await checked.seen('shipping', 'event-1')
    expect(exact.looks).toBe(1)
  })

  test('returns the same results as the store alone, for any sequence of calls', async () => {
    const step = fc.record({
      does: fc.constantFrom('mark' as const, 'seen' as const),
      consumer: fc.constantFrom('a', 'b'),
      key: fc.constantFrom('1', '2', '3', '4'),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(step), fc.array(step), async (before, after) => {
        const [exact, alone] = [createMemoryIdempotencyStore(), createMemoryIdempotencyStore()]
        for (const { consumer, key } of before) for (const store of [exact, alone]) await store.mark(consumer, key)
        const checked = createBloomCheckedStore(exact, { expectedMarks: 1 })
        await checked.load(before)
        for (const { does, consumer, key } of after) {
          if (does === 'seen') expect(await checked.seen(consumer, key)).toBe(await alone.seen(consumer, key))
          else for (const store of [checked, alone]) await store.mark(consumer, key)
        }
      }),
    )
  })

  test('knows of a mark that had no answer', async () => {
    const exact = countingStore()
    const mark = exact.mark.bind(exact)
    exact.mark = async (consumer, key) => {
      await mark(consumer, key)
      throw new Error('no answer')
    }
    const checked = createBloomCheckedStore(exact)
    await checked.load([])
    await expect(checked.mark('shipping', 'event-1')).rejects.toThrow('no answer')
    expect(await checked.seen('shipping', 'event-1')).toBe(true)
  })

  test('knows of a mark made while it was loaded', async () => {
    const checked = createBloomCheckedStore(countingStore())
    const reading = Promise.withResolvers<void>()
    const loading = checked.load(
      (async function* () {
        await reading.promise
        yield { consumer: 'shipping', key: 'event-1' }
      })(),
    )
    await checked.mark('shipping', 'event-2')
    reading.resolve()
    await loading
    expect(await checked.seen('shipping', 'event-2')).toBe(true)
  })

  test('is queried for everything when reading its marks failed', async () => {
    const exact = countingStore()
    const checked = createBloomCheckedStore(exact)
    const broken = (async function* () {
      yield { consumer: 'shipping', key: 'event-1' }
      throw new Error('connection lost')
    })()
    await expect(checked.load(broken)).rejects.toThrow('connection lost')
    await checked.seen('shipping', 'event-9')
    expect(exact.looks).toBe(1)
  })

  test('refuses a rate that no filter has', () => {
    expect(() => createBloomCheckedStore(countingStore(), { falsePositiveRate: 0 })).toThrow('falsePositiveRate')
  })
})
