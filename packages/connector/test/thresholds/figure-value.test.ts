import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createFigureValue } from '../../src/thresholds/figure-value.ts'

describe('a figure of gauges', () => {
  test('adds up their latest values, or takes the largest', () => {
    const [sum, max] = (['SUM', 'MAX'] as const).map((combine) => createFigureValue({ combine, windowMs: 0 }))
    for (const figure of [sum, max]) {
      expect(figure?.at(0)).toBeUndefined()
      figure?.add('0', 7, 0)
      figure?.add('1', 5, 0)
      figure?.add('0', 4, 1)
    }
    expect([sum?.at(1e9), max?.at(1e9)]).toEqual([9, 5])
  })
})

describe('a figure of a gauge and its position', () => {
  test('S3-023 is the longest time with a lag and without consumption, up to the last measurement', () => {
    const figure = createFigureValue({ combine: 'STALL', windowMs: 0 })
    const measure = (seconds: number, ...partitions: readonly (readonly [lag: number, position: number])[]): number => {
      for (const [partition, [lag, position]] of partitions.entries()) {
        figure.add(String(partition), lag, seconds * 1_000)
        figure.moveTo?.(String(partition), position, seconds * 1_000)
      }
      return figure.at(1e9) ?? -1
    }
    expect(figure.at(0)).toBeUndefined()
    expect(measure(0, [0, 5], [3, 7])).toBe(0)
    expect(measure(100, [0, 5], [3, 7])).toBe(100)
    // One partition is consumed again, the other one is not any more.
    expect(measure(200, [2, 5], [3, 8])).toBe(0)
    expect(measure(250, [2, 5], [3, 9])).toBe(50)
    expect(measure(260, [0, 7], [0, 12])).toBe(0)
  })

  test('S3-023 is the largest share of busy time', () => {
    const figure = createFigureValue({ combine: 'BUSY', windowMs: 0 })
    expect(figure.at(0)).toBeUndefined()
    figure.add('', 0.75, 0)
    expect(figure.at(0)).toBe(0.25)
  })
})

describe('a figure of a counter', () => {
  test('counts the last window and forgets what is older', () => {
    const figure = createFigureValue({ combine: 'COUNT', windowMs: 60_000 })
    expect(figure.at(0)).toBe(0)
    figure.add('', 1, 0)
    figure.add('', 2, 30_000)
    expect(figure.at(59_999)).toBe(3)
    expect(figure.at(61_001)).toBe(2)
    expect(figure.at(91_001)).toBe(0)
  })

  test('counts everything in the window, and nothing that is older by a sixtieth of it', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(300_000), { maxLength: 200 }), (gaps) => {
        const figure = createFigureValue({ combine: 'COUNT', windowMs: 60_000 })
        const times: number[] = []
        let now = 0
        for (const gap of gaps) {
          now += gap
          times.push(now)
          figure.add('', 1, now)
          const value = figure.at(now) ?? 0
          expect(value).toBeGreaterThanOrEqual(times.filter((at) => at >= now - 60_000).length)
          expect(value).toBeLessThanOrEqual(times.filter((at) => at >= now - 61_000).length)
        }
      }),
      { numRuns: 100 },
    )
  })
})

describe('a figure of a histogram', () => {
  test('is the mean of the window, and unknown without an observation', () => {
    const figure = createFigureValue({ combine: 'MEAN', windowMs: 300_000 })
    expect(figure.at(0)).toBeUndefined()
    figure.add('', 100, 0)
    figure.add('', 200, 1_000)
    expect(figure.at(2_000)).toBe(150)
    expect(figure.at(400_000)).toBeUndefined()
  })

  test('is the 99th percentile by nearest rank, within 1 %', () => {
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: 0, max: 1e6, noNaN: true }), { minLength: 1, maxLength: 500 }),
        (values) => {
          const figure = createFigureValue({ combine: 'P99', windowMs: 300_000 })
          for (const [index, value] of values.entries()) figure.add('', value, index * 500)
          const exact = values.toSorted((one, other) => one - other)[Math.ceil(values.length * 0.99) - 1] ?? 0
          const value = figure.at(250_000) ?? Number.NaN
          expect(value).toBeGreaterThanOrEqual(exact * (1 - 1e-9))
          expect(value).toBeLessThanOrEqual(exact * 1.0101)
        },
      ),
      { numRuns: 200 },
    )
  })

  test('keeps the same memory for any number of observations', () => {
    const figure = createFigureValue({ combine: 'P99', windowMs: 300_000 })
    for (let ms = 0; ms < 100_000; ms++) figure.add('', ms % 997, ms)
    expect(figure.at(100_000)).toBeCloseTo(987, -1)
  })
})
