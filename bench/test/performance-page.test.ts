import { describe, expect, test } from 'vitest'
import { fillPage, type PerformanceTable } from '../src/page/performance-page.ts'
import { compare } from '../src/statistics.ts'

const table: PerformanceTable = {
  bench: 'b',
  cases: [
    { case: 'one', references: ['java'] },
    { case: 'two', references: ['java'] },
  ],
  rate: 'records/s, warm',
  cpu: 'CPU',
  cold: 'records/s, cold',
}
const page = 'Before.\n\n<!-- measured: b -->\nstale\n<!-- end -->\n\nAfter.\n'
const line = (name: string, unit: string, ours: number, theirs: number) =>
  compare({ bench: 'b', case: name, unit, reference: 'java' }, [ours], [theirs])

describe('the page of numbers', () => {
  test('has a row for every case, and says which were not measured', () => {
    const results = [
      line('one', 'records/s, warm', 1_200_000, 2_000_000),
      line('one', 'records/s, cold', 10, 5),
      line('one', 'CPU', 1.23456, 2),
      { bench: 'b', case: 'one', note: 'commits in the last pass: waybill 1, java 9' },
    ]
    const filled = fillPage(page, [table], results)
    expect(filled).toContain('| one | java | 1,200,000 | 2,000,000 | **0.6** (0.6 to 0.6) | 2 | 1.2 / 2 |')
    expect(filled).toContain('| two | java | not measured yet |')
    expect(filled).toContain('- one: commits in the last pass: waybill 1, java 9')
    expect(filled).not.toContain('stale')
    expect(filled.startsWith('Before.\n')).toBe(true)
    expect(filled.endsWith('After.\n')).toBe(true)
  })

  test('shows the latest of several results, and can be filled again', () => {
    const once = fillPage(page, [table], [line('one', 'records/s, warm', 1, 2)])
    const results = [line('one', 'records/s, warm', 1, 2), line('one', 'records/s, warm', 3, 2)]
    expect(fillPage(once, [table], results)).toContain('| one | java | 3 | 2 | **1.5** (1.5 to 1.5) |')
  })

  test('is not changed if it has no place for a table', () => {
    expect(() => fillPage('text', [table], [])).toThrow('The page has no place for the table of b.')
  })
})
