import { expect, test } from 'vitest'
import { drawProgram } from './program.ts'

const seeds = Array.from({ length: 2_000 }, (_, index) => index)

test('every seed has at least sixty records and two to four members', () => {
  for (const seed of seeds) {
    const { members, sources } = drawProgram(seed)
    expect(sources.reduce((sum, { records }) => sum + records, 0)).toBeGreaterThanOrEqual(60)
    expect([2, 3, 4]).toContain(members.count)
  }
})

test('a seed draws the same program every time, and another seed another one', () => {
  for (const seed of seeds.slice(0, 50)) expect(drawProgram(seed)).toEqual(drawProgram(seed))
  expect(drawProgram(1)).not.toEqual(drawProgram(2))
})

test('a calm seed has no fault and nobody dies in it', () => {
  const calm = seeds.map(drawProgram).filter(({ isCalm }) => isCalm)
  expect(calm.length).toBeGreaterThan(200)
  for (const { faults, outages, chaos } of calm) {
    expect(faults).toBe(false)
    expect(outages).toEqual([])
    for (const { kind } of chaos) expect(kind).not.toMatch(/KILL|EXPIRE|FREEZE|REPLACE|CUT|DELETE|COORDINATOR/)
  }
})
