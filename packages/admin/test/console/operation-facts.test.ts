import { expect, test } from 'vitest'
import type { Schemas } from '../../console/api/api-types.ts'
import { inertParts } from '../../console/format/inert-text.ts'
import { indented, jsonTokens } from '../../console/format/json-tokens.ts'
import {
  abortRuleOf,
  allOf,
  isPlan,
  settingText,
  settledOf,
  sharesOf,
} from '../../console/page/operations/operation-facts.ts'
import { timelineOf } from '../../console/page/operations/timeline.ts'

const outcomes = { succeeded: '6', retrying: '1', failedAgain: '2', skipped: '1', unknown: '0', mayBeRepeated: '0' }
const progress = { scanned: '0', sent: '5', refused: {}, remaining: '7', etaMs: null }

const entry = (id: string) =>
  ({ operation: 'RESUME_OPERATION', at: '2026-01-01T00:00:05Z', by: 'ben', request: { id } }) as Schemas['AuditEntry']

test.each([
  ['its plan', { eligible: '12' }, {}, progress, 12n],
  ['its limit', { eligible: '12' }, { limit: 7 }, progress, 7n],
  [
    'its plan without the letters that were handled elsewhere',
    { eligible: '12' },
    { limit: 100 },
    { ...progress, refused: { NOT_OPEN: '5' } },
    7n,
  ],
  [
    'its plan, whose refusals are no part of it',
    { eligible: '12', refused: { MAX_REPLAYS: '3' } },
    {},
    { ...progress, refused: { MAX_REPLAYS: '3' } },
    12n,
  ],
  ['a purge, which is one step', { eligible: '500', byGroup: [] }, { limit: 1 }, progress, 500n],
  ['what is left without a plan', {}, {}, progress, 12n],
  ['something unknown', {}, {}, { ...progress, remaining: null }, undefined],
])('an operation is about %s', (_what, plan, request, made, all) => {
  expect(allOf({ plan, request, progress: made })).toBe(all)
})

test('a copy that needs a tier again counts as failed', () => {
  expect(settledOf({ outcomes })).toEqual({ settled: 10n, failed: 3n })
  expect(sharesOf(outcomes)).toContainEqual({ kind: 'succeeded', percent: 60 })
  expect(sharesOf({ ...outcomes, succeeded: '0', retrying: '0', failedAgain: '0', skipped: '0' })).toEqual([])
})

test('settings of any shape are texts', () => {
  expect(abortRuleOf({ request: { abortWhen: { failureRate: 0.05, minimum: 20 } } })?.minimum).toBe(20)
  expect(abortRuleOf({ request: { abortWhen: false } })).toBeUndefined()
  expect(abortRuleOf({ request: { abortWhen: 'x' } })).toBeUndefined()
  expect(settingText({ tier: 2 })).toBe('tier 2')
  expect(settingText({})).toBe('all')
  expect(isPlan({ state: 'CANCELLED', startedAt: null })).toBe(true)
  expect(isPlan({ state: 'CANCELLED', startedAt: '2026-01-01T00:00:00Z' })).toBe(false)
})

test('a timeline takes entries of its operation alone, and tells its start without a log', () => {
  const operation = {
    id: 'op_1',
    createdAt: '2026-01-01T00:00:00Z',
    startedAt: '2026-01-01T00:00:01Z',
    endedAt: '2026-01-01T00:00:09Z',
    state: 'DONE',
    by: 'ana',
    reason: null,
  } as Schemas['Operation']
  expect(timelineOf(operation, [entry('op_1'), entry('op_2')]).map(({ text }) => text)).toEqual([
    'DONE',
    'resumed',
    'started',
    'created',
  ])
})

test('what a hostile value may draw is bounded', () => {
  const parts = inertParts('\u202e'.repeat(80_000))
  expect(parts.length).toBeLessThan(600)
  expect(parts.map(({ text }) => text).at(-1)).not.toContain('\u202e')
  const deep = indented(jsonTokens(`${'['.repeat(5_000)}${']'.repeat(5_000)}`) ?? [])
  expect(deep.reduce((sum, { text }) => sum + text.length, 0)).toBeLessThan(1_000_000)
})
