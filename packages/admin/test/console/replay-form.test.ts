import { expect, test } from 'vitest'
import { filterParams, selectionOf, spanOf } from '../../console/page/failures/failure-filter.ts'
import { purgePlanOf } from '../../console/page/failures/purge-plan.ts'
import { bodyOf, formFor, goingOf, planKey, planOf, problemsOf } from '../../console/page/failures/replay-form.ts'
import { readState } from '../../console/state/query-codec.ts'

const group = { binding: 'shipping', label: 'HttpError', filter: { group: '7f3a' } }

test('a replay sends a few first, asks, and stops when too many fail again', () => {
  const form = { ...formFor(group), reason: ' INC-311 ' }
  expect(problemsOf(form)).toEqual([])
  expect(bodyOf(group, form)).toEqual({
    type: 'REPLAY',
    binding: 'shipping',
    filter: { group: '7f3a' },
    limit: 10_000,
    rate: 50,
    // oxlint-disable-next-line unicorn/no-thenable -- a word of the API, never a function
    canary: { count: 5, settleMs: 60_000, then: 'PAUSE' },
    abortWhen: { failureRate: 0.05, minimum: 20 },
    reason: 'INC-311',
  })
})

test('a single dead letter goes without a canary', () => {
  const one = { binding: 'shipping', label: 'o-17', ids: ['orders.DLT:0:1'] }
  const body = bodyOf(one, { ...formFor(one), where: 'TIER', tier: '2', maxReplays: '9' })
  expect(body).toMatchObject({ type: 'REPLAY_TO_TIER', tier: 2, ids: ['orders.DLT:0:1'], limit: 1, maxReplays: 9 })
  expect(body).not.toHaveProperty('canary')
  expect(body).not.toHaveProperty('filter')
})

test.each([
  ['rate', '0'],
  ['rate', 'fast'],
  ['rate', ''],
  ['limit', '1.5'],
  ['firstCount', '-1'],
  ['maxReplays', '0'],
  ['abortPercent', '101'],
] as const)('the field %s does not take %j', (field, text) => {
  expect(problemsOf({ ...formFor(group), [field]: text }).map((one) => one.field)).toEqual([field])
})

test('only what selects other records needs another plan', () => {
  const form = formFor(group)
  const key = planKey(bodyOf(group, form))
  expect(planKey(bodyOf(group, { ...form, rate: '5', limit: '7', reason: 'x' }))).toBe(key)
  expect(planKey(bodyOf(group, { ...form, where: 'ORIGINAL' }))).not.toBe(key)
  expect(planKey(bodyOf(group, { ...form, maxReplays: '9' }))).not.toBe(key)
})

test('a plan of a newer server, or one without counts, is read as far as it is known', () => {
  const plan = { eligible: '199', refused: { MAX_REPLAYS: '3' }, keys: '187', targets: ['orders'], newer: [{}] }
  expect(planOf({ plan })).toMatchObject({ eligible: 199n, refused: [['MAX_REPLAYS', '3']], topics: ['orders'] })
  expect(planOf({ plan: {} })).toMatchObject({ eligible: undefined, refused: [], topics: [] })
  expect(purgePlanOf({ plan: { eligible: '7', byGroup: 'x', ranges: [{ topic: 'a' }, { topic: 'a' }, 3] } })).toEqual({
    eligible: 7n,
    notReplayed: 0n,
    byGroup: [],
    topics: ['a'],
  })
})

test('the limit bounds what goes', () => {
  expect(goingOf(199n, '10000')).toBe(199n)
  expect(goingOf(199n, '7')).toBe(7n)
  expect(goingOf(199n, 'x')).toBe(199n)
})

test('an operation takes the filter of the page without its binding and its state', () => {
  const filter = readState(filterParams, { binding: 'shipping', exception: 'HttpError', since: 'PT1H', state: 'ANY' })
  expect(selectionOf(filter)).toEqual({ exception: 'HttpError', since: 'PT1H' })
})

test('a span stays within the window, and is seen when it is short', () => {
  expect(spanOf({ firstMs: 0, lastMs: 50 }, { fromMs: 0, toMs: 100 })).toEqual({ start: 0, width: 0.5 })
  expect(spanOf({ firstMs: 100, lastMs: 100 }, { fromMs: 0, toMs: 100 })).toEqual({
    start: 0.96,
    width: expect.closeTo(0.04),
  })
  expect(spanOf({ firstMs: -100, lastMs: -50 }, { fromMs: 0, toMs: 100 })).toEqual({ start: 0, width: 0.04 })
})
