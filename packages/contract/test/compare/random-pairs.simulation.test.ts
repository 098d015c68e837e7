/** Random schemas and small changes of them. `npm run schema-pairs -- --pairs 100000` tries many more. */
import { expect, test } from 'vitest'
import { tryPairs } from '../support/try-pairs.ts'

const pairs = 5_000

test('S2-072 what is called compatible never fails cross-validation of generated events', {
  timeout: 300_000,
}, () => {
  const tally = tryPairs({ pairs, from: 20_261_118, events: 8, judgedEvery: 40 })
  process.stdout.write(`${JSON.stringify(tally)}\n`)
  expect(tally.letThrough).toEqual([])
  expect(tally.wrongExamples).toEqual([])
  const unproven = Object.values(tally.alarms).reduce((sum, { alarms, drawn }) => sum + alarms - drawn, 0)
  expect(unproven / (2 * pairs)).toBeLessThan(0.02)
  expect(tally.compatible).toBeGreaterThan(pairs / 2)
  expect(tally.broken).toBeGreaterThan(pairs / 2)
  expect(tally.events).toBeGreaterThan(5 * tally.compatible)
})
