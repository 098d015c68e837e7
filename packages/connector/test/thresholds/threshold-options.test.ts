import { OptionsError } from '@waybill/core'
import { describe, expect, test } from 'vitest'
import {
  projectionThresholds,
  resolveMonitorOptions,
  type ThresholdMonitorOptions,
} from '../../src/thresholds/threshold-options.ts'

function violationsOf(options: unknown): readonly string[] {
  try {
    resolveMonitorOptions(options as ThresholdMonitorOptions)
  } catch (error) {
    if (error instanceof OptionsError) return error.violations.map(({ path, problem }) => `${path} ${problem}`)
    throw error
  }
  return []
}

describe('thresholds of a monitor', () => {
  test('are those of the specification where nothing else is set', () => {
    const { thresholdOf, isWatched } = resolveMonitorOptions({ thresholds: { lagRecords: { warningAbove: 500 } } })
    expect(thresholdOf('lagRecords', 'any')).toMatchObject({ warningAbove: 500, criticalAbove: 100_000 })
    expect(thresholdOf('lagSeconds', 'any')).toMatchObject({ healthyBelow: 60, warningAbove: 300, criticalAbove: 900 })
    expect([isWatched('lagSeconds'), isWatched('handlerMeanMs')]).toEqual([true, false])
  })

  test('of a binding are over those of all', () => {
    const { thresholdOf } = resolveMonitorOptions({
      thresholds: { lagRecords: { warningAbove: 500 }, lagSeconds: false },
      bindings: { balances: { lagRecords: { criticalAbove: 800 }, lagSeconds: { warningAbove: 30 } } },
    })
    expect(thresholdOf('lagRecords', 'balances')).toMatchObject({ warningAbove: 500, criticalAbove: 800 })
    expect(thresholdOf('lagSeconds', 'balances')).toEqual({
      healthyBelow: 30,
      warningAbove: 30,
      warningAfterMs: 0,
      criticalAbove: false,
      criticalAfterMs: 0,
    })
    expect(thresholdOf('lagSeconds', 'other')).toBe(false)
    expect(thresholdOf('lagSeconds', undefined)).toBe(false)
  })

  test('S3-023 of a read model are a lag of 1,000 for 5 minutes, 500 ms a call, 2 rebalances in 10 minutes, none failed', () => {
    const { thresholdOf } = resolveMonitorOptions({ bindings: { balances: projectionThresholds } })
    expect(thresholdOf('lagRecords', 'balances')).toMatchObject({
      warningAbove: 1_000,
      warningAfterMs: 300_000,
      criticalAbove: 100_000,
    })
    expect(thresholdOf('handlerMeanMs', 'balances')).toMatchObject({ warningAbove: 500, criticalAbove: false })
    expect(thresholdOf('rebalancesPerTenMinutes', 'balances')).toMatchObject({ warningAbove: 2, criticalAbove: false })
    expect(thresholdOf('failedRebalancesPerTenMinutes', 'balances')).toMatchObject({
      warningAbove: false,
      criticalAbove: 0,
    })
    expect(thresholdOf('stalledSeconds', 'balances')).toMatchObject({ warningAbove: false, criticalAbove: 300 })
    expect(thresholdOf('busyRatio', 'balances')).toMatchObject({ warningAbove: 0.9, warningAfterMs: 600_000 })
    expect(thresholdOf('handlerMeanMs', 'other')).toBe(false)
  })

  test.each([
    [{ thresholds: { lagRecord: {} } }, 'thresholds.lagRecord is not an option; did you mean lagRecords?'],
    [
      { thresholds: { lagRecords: { warningAbove: 200_000 } } },
      'thresholds.lagRecords has warningAbove 200000, above its criticalAbove 100000',
    ],
    [
      { bindings: { a: { lagRecords: { criticalAbove: 10 } } } },
      'bindings["a"].lagRecords has warningAbove 10000, above its criticalAbove 10',
    ],
    [
      { bindings: { a: { produceP99Ms: { warningAbove: 10 } } } },
      'bindings["a"].produceP99Ms belongs to no binding; set it in thresholds',
    ],
    [{ metrics: {} }, expect.stringContaining('metrics must be Metrics')],
    [{ thresholds: { lagRecords: { warningAbove: -1 } } }, expect.stringContaining('must be a number of 0 or more')],
  ])('%j are refused', (options, violation) => {
    expect(violationsOf(options)).toEqual([violation])
  })
})
