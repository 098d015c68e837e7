import { expect, test } from 'vitest'
import { type Contestant, runContest } from '../src/passes/contest.ts'
import type { PassResult } from '../src/passes/pass-result.ts'

const names = { bench: 'b', case: 'c' }
const noProgress = (): void => {}

/** A contestant whose passes take these seconds. */
function contestant(name: string, seconds: readonly number[], commits?: number): Contestant {
  const passOf = (taken: number, pass: number): PassResult => ({
    pass,
    topic: 't',
    records: 100,
    seconds: taken,
    cpuSeconds: taken,
    ...(commits === undefined ? {} : { commits }),
  })
  return { name, run: async () => seconds.map(passOf) }
}

test('compares the last passes, and the first ones separately', async () => {
  const lines = await runContest(names, [contestant('ours', [4, 2, 1]), contestant('theirs', [8, 2, 2])], 2, noProgress)
  expect(lines).toMatchObject([
    { unit: 'records/s, warm', reference: 'theirs', value: 100, referenceValue: 50, ratio: 2, runs: 2 },
    { unit: 'records/s, cold', value: 25, referenceValue: 12.5, ratio: 2 },
    { unit: 'CPU µs/record, warm', value: 10_000, referenceValue: 20_000, ratio: 2 },
  ])
})

test('reports a contestant that failed, and does not compare it', async () => {
  const broken: Contestant = {
    name: 'broken',
    run: () => Promise.reject(new Error('lost 1 of 100 records, in pass 2')),
  }
  const lines = await runContest(names, [contestant('ours', [1]), broken, contestant('theirs', [2])], 1, noProgress)
  expect(lines.filter((line) => 'note' in line)).toEqual([
    { ...names, note: 'broken is not compared: lost 1 of 100 records, in pass 2' },
  ])
  expect(new Set(lines.flatMap((line) => ('reference' in line ? [line.reference] : [])))).toEqual(new Set(['theirs']))
})

test('compares nothing if Waybill itself failed', async () => {
  const broken: Contestant = { name: 'waybill', run: () => Promise.reject(new Error('ended before its last pass')) }
  expect(await runContest(names, [broken, contestant('theirs', [2])], 1, noProgress)).toEqual([
    { ...names, note: 'waybill is not compared: ended before its last pass' },
  ])
})

test('prints the commits of the last pass', async () => {
  const lines = await runContest(names, [contestant('ours', [1], 3), contestant('theirs', [1], 900)], 1, noProgress)
  expect(lines.at(-1)).toEqual({ ...names, note: 'commits in the last pass: ours 3, theirs 900' })
})
