import { describe, expect, test } from 'vitest'
import { isCutAt, ReadBudget } from '../../src/loops/read-budget.ts'

const rows = (...sizes: readonly number[]) => sizes.map((bytes) => ({ bytes }))

describe('the budget of reads', () => {
  test('I24 gives one read an eighth of the bound', () => {
    expect(new ReadBudget(64_000).readBytes).toBe(8_000)
    expect(new ReadBudget(3).readBytes).toBe(1)
  })

  test('asks for as many rows as fit if they are as large as the last ones', () => {
    const budget = new ReadBudget(64_000)
    expect(budget.rows(500)).toBe(500)
    budget.observe(rows(900, 1_100))
    expect(budget.rows(500)).toBe(8)
    expect(budget.rows(5)).toBe(5)
    budget.observe([])
    expect(budget.rows(500)).toBe(8)
    budget.observe(rows(100_000))
    expect(budget.rows(500)).toBe(1)
    budget.observe(rows(10))
    expect(budget.rows(500)).toBe(500)
  })

  test('takes a read for cut if it reaches its limit of bytes', () => {
    expect(isCutAt(100, rows(50, 49))).toBe(false)
    expect(isCutAt(100, rows(50, 50))).toBe(true)
    expect(isCutAt(100, [])).toBe(false)
  })
})
