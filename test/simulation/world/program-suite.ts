/** Tests that hold for the programs of every simulation. */

import { expect, test } from 'vitest'
import type { ChaosEvent } from './fault-plan.ts'

/** The common part of all programs. */
interface AnyProgram {
  readonly isCalm: boolean
  readonly faults: object | false
  readonly outages: readonly object[]
  readonly chaos: readonly ChaosEvent<string>[]
}

/** Enough seeds to see each kind. */
export const programSeeds: readonly number[] = Array.from({ length: 2_000 }, (_, index) => index)

/** Counts of a program's contents. */
export interface SizeOf<P> {
  readonly records: (program: P) => number
  readonly members: (program: P) => number
  /** Kinds that calm programs do not contain. */
  readonly harmful: RegExp
}

/** Declares the tests. */
export function describePrograms<P extends AnyProgram>(drawProgram: (seed: number) => P, size: SizeOf<P>): void {
  test('every seed has at least sixty records and two to four members', () => {
    for (const program of programSeeds.map(drawProgram)) {
      expect(size.records(program)).toBeGreaterThanOrEqual(60)
      expect([2, 3, 4]).toContain(size.members(program))
    }
  })

  test('a seed draws the same program every time, and another seed another one', () => {
    for (const seed of programSeeds.slice(0, 50)) expect(drawProgram(seed)).toEqual(drawProgram(seed))
    expect(drawProgram(1)).not.toEqual(drawProgram(2))
  })

  test('a calm seed has no fault and no process dies in it', () => {
    const calm = programSeeds.map(drawProgram).filter(({ isCalm }) => isCalm)
    expect(calm.length).toBeGreaterThan(200)
    for (const { faults, outages, chaos } of calm) {
      expect(faults).toBe(false)
      expect(outages).toEqual([])
      for (const { kind } of chaos) expect(kind).not.toMatch(size.harmful)
    }
  })
}
