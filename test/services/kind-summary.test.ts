import { type KindsInRun, summarizeKinds } from '@waybill/test-support'
import { expect, test } from 'vitest'

const run: KindsInRun = {
  declared: ['unit', 'integration', 'docs', 'guarantees'],
  selected: ['unit', 'integration'],
  ran: new Map([
    ['integration', 12],
    ['unit', 34],
  ]),
  isPartial: false,
}

test('a run that selects kinds names those it ran, in the order of the configuration, and those it left to check', () => {
  expect(summarizeKinds(run)).toEqual([
    'Ran here: unit 34, integration 12.',
    'Left to `npm run check`: docs, guarantees.',
  ])
})

test('a run of every kind leaves nothing to check', () => {
  expect(summarizeKinds({ ...run, selected: run.declared })).toEqual(['Ran here: unit 34, integration 12.'])
})

test('a run of single files does not list what it left out', () => {
  expect(summarizeKinds({ ...run, isPartial: true })).toEqual(['Ran here: unit 34, integration 12.'])
})

test('a selected kind whose tests were all skipped did not run', () => {
  expect(summarizeKinds({ ...run, ran: new Map([['unit', 1]]) })).toEqual([
    'Ran here: unit 1.',
    'Left to `npm run check`: docs, guarantees.',
  ])
})
