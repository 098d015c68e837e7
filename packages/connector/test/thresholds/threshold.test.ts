import { describe, expect, test } from 'vitest'
import type { ThresholdFigure } from '../../src/thresholds/figures.ts'
import { assessThreshold, type Threshold, worstStatus } from '../../src/thresholds/threshold.ts'
import { defaultThresholds } from '../../src/thresholds/threshold-options.ts'

const minutes = (count: number): number => count * 60_000

describe('S2-062 S2-064 the status of a figure with the thresholds of the specification', () => {
  test.each<[ThresholdFigure, number, string]>([
    ['lagRecords', 0, 'HEALTHY'],
    ['lagRecords', 999, 'HEALTHY'],
    ['lagRecords', 10_000, 'HEALTHY'],
    ['lagRecords', 10_001, 'WARNING'],
    ['lagRecords', 100_000, 'WARNING'],
    ['lagRecords', 100_001, 'CRITICAL'],
    ['lagSeconds', 59, 'HEALTHY'],
    ['lagSeconds', 300, 'HEALTHY'],
    ['lagSeconds', 300.5, 'WARNING'],
    ['lagSeconds', 900, 'WARNING'],
    ['lagSeconds', 901, 'CRITICAL'],
    ['deadLettersPerMinute', 0, 'HEALTHY'],
    ['deadLettersPerMinute', 10, 'HEALTHY'],
    ['deadLettersPerMinute', 11, 'WARNING'],
    ['deadLettersPerMinute', 100, 'WARNING'],
    ['deadLettersPerMinute', 101, 'CRITICAL'],
    ['produceP99Ms', 99, 'HEALTHY'],
    ['produceP99Ms', 500, 'HEALTHY'],
    ['produceP99Ms', 501, 'WARNING'],
    ['produceP99Ms', 2_000, 'WARNING'],
    ['produceP99Ms', 2_001, 'CRITICAL'],
    ['rebalancesPerHour', 0, 'HEALTHY'],
    ['rebalancesPerHour', 5, 'HEALTHY'],
    ['rebalancesPerHour', 6, 'WARNING'],
    ['rebalancesPerHour', 20, 'WARNING'],
    ['rebalancesPerHour', 21, 'CRITICAL'],
  ])('%s of %d is %s', (figure, value, status) => {
    expect(assessThreshold({ value }, defaultThresholds[figure] as Threshold)).toBe(status)
  })

  test.each<[number, number, string]>([
    [0, minutes(60), 'HEALTHY'],
    [1, 0, 'WARNING'],
    [1, minutes(5) - 1, 'WARNING'],
    [1, minutes(5), 'CRITICAL'],
    [64, minutes(4), 'WARNING'],
  ])('%d under-replicated partitions for %d ms are %s', (value, ms, status) => {
    const threshold = defaultThresholds.underReplicatedPartitions as Threshold
    expect(assessThreshold({ value, aboveWarningMs: ms, aboveCriticalMs: ms }, threshold)).toBe(status)
  })

  test.each<[ThresholdFigure, number, number]>([
    ['lagRecords', 999, 1_000],
    ['lagSeconds', 59.9, 60],
    ['deadLettersPerMinute', 0, 1],
    ['produceP99Ms', 99.9, 100],
    ['rebalancesPerHour', 0, 1],
    ['underReplicatedPartitions', 0, 1],
  ])('the healthy range of %s ends between %d and %d', (figure, inside, outside) => {
    const { healthyBelow } = defaultThresholds[figure] as Threshold
    expect([inside < healthyBelow, outside < healthyBelow]).toEqual([true, false])
  })
})

describe('a threshold', () => {
  const threshold = { healthyBelow: 1, warningAbove: 10, warningAfterMs: 100, criticalAbove: 20, criticalAfterMs: 200 }

  test.each([
    [{ value: 11, aboveWarningMs: 99 }, 'HEALTHY'],
    [{ value: 11, aboveWarningMs: 100 }, 'WARNING'],
    [{ value: 21, aboveWarningMs: 100, aboveCriticalMs: 199 }, 'WARNING'],
    [{ value: 21, aboveWarningMs: 200, aboveCriticalMs: 200 }, 'CRITICAL'],
    [{ value: 11, aboveWarningMs: 500, aboveCriticalMs: 500 }, 'WARNING'],
  ])('with durations judges %j as %s', (measurement, status) => {
    expect(assessThreshold(measurement, threshold)).toBe(status)
  })

  test('whose limit is false never reaches that status', () => {
    expect(assessThreshold({ value: 1e9 }, { ...threshold, criticalAbove: false })).toBe('WARNING')
    expect(assessThreshold({ value: 1e9 }, { ...threshold, warningAbove: false })).toBe('CRITICAL')
    expect(assessThreshold({ value: 15 }, { ...threshold, warningAbove: false })).toBe('HEALTHY')
  })
})

test('several statuses are as bad as the worst of them', () => {
  expect(worstStatus([])).toBe('HEALTHY')
  expect(worstStatus(['HEALTHY', 'WARNING', 'HEALTHY'])).toBe('WARNING')
  expect(worstStatus(['CRITICAL', 'WARNING'])).toBe('CRITICAL')
})
