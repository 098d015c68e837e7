import { createUlidGenerator, systemRuntime } from '@waybill/core'
import { describe, expect, test } from 'vitest'
import { grouped } from '../../console/format/number.ts'
import { isHandlerUnchanged } from '../../console/page/failures/handler-unchanged.ts'
import { levelOf, limitsOf, type Reading, readingsOf } from '../../console/page/overview/thresholds.ts'

const reading = (given: Partial<Reading>): Reading => ({
  figure: 'lagSeconds',
  subject: { binding: 'shipping', cluster: 'default' },
  value: 840,
  status: 'WARNING',
  threshold: { warningAbove: 300, criticalAbove: 900 },
  runbook: 'https://example.org/lag.md',
  ...given,
})

const limits = (figure: string, warningAbove: number | false, criticalAbove: number | false): string =>
  limitsOf(reading({ figure, threshold: { warningAbove, criticalAbove } }))

describe('the level of a figure', () => {
  test('is that of its binding, with the limits in words', () => {
    const readings = [reading({}), reading({ subject: { binding: 'mail', cluster: 'default' }, status: 'CRITICAL' })]
    expect(levelOf(readings, 'lagSeconds', { name: 'shipping', cluster: 'default' })).toEqual({
      tone: 'warn',
      title: 'Warning above 5 min, critical above 15 min.',
    })
    expect(levelOf(readings, 'lagSeconds', { name: 'shipping', cluster: 'eu' }).tone).toBeUndefined()
    expect(levelOf(readings, 'lagRecords').title).toBeUndefined()
  })

  test('is the worst one where no binding is named', () => {
    const readings = [reading({ status: 'HEALTHY' }), reading({ status: 'CRITICAL' })]
    expect(levelOf(readings, 'lagSeconds').tone).toBe('bad')
  })

  test('names only limits that are set, with the unit of the figure', () => {
    expect(limits('lagRecords', 10_000, false)).toBe(`Warning above ${grouped(10_000)}.`)
    expect(limits('deadLettersPerMinute', false, 100)).toBe('critical above 100/min.')
    expect(limits('handlerMeanMs', false, false)).toBe('')
  })

  test('is not known to a server without thresholds', () => {
    expect(readingsOf(null)).toEqual([])
    expect(readingsOf({ status: 'HEALTHY', readings: [reading({})] })).toHaveLength(1)
  })
})

describe('a handler is unchanged', () => {
  const startedAt = Date.parse('2026-11-16T06:00:00Z')
  const key = createUlidGenerator({ ...systemRuntime, clock: { ...systemRuntime.clock, now: () => startedAt } })()
  const instance = {
    key,
    instance: 'shop-0',
    version: '1.8.1',
    alive: true,
    bindings: [{ cluster: 'default', binding: 'shipping' }],
  }

  test('if no live process started after the last death', () => {
    expect(isHandlerUnchanged([instance], 'shipping', '2026-11-16T06:00:01Z')).toBe(true)
    expect(isHandlerUnchanged([instance], 'shipping', '2026-11-16T05:59:59Z')).toBe(false)
  })

  test('only where that is known', () => {
    expect(isHandlerUnchanged([], 'shipping', '2026-11-16T06:00:01Z')).toBe(false)
    expect(isHandlerUnchanged([instance], 'mail', '2026-11-16T06:00:01Z')).toBe(false)
    expect(isHandlerUnchanged([{ ...instance, key: 'shop-0' }], 'shipping', '2026-11-16T06:00:01Z')).toBe(false)
    expect(isHandlerUnchanged([{ ...instance, alive: false }], 'shipping', '2026-11-16T06:00:01Z')).toBe(false)
    expect(isHandlerUnchanged([instance], 'shipping', null)).toBe(false)
  })
})
