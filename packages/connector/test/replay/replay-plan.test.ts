import { expect, test } from 'vitest'
import { readDeadLetter } from '../../src/records/dead-letter-record.ts'
import { objectionTo, type ReplayPlan } from '../../src/replay/replay-plan.ts'
import { fetched, textRecord } from '../records/fetched.ts'

test('a dead letter at maxReplays is not replayed, and may be released', () => {
  const binding = {
    name: 'shipping',
    topic: 'orders',
    groupId: 'shipping',
    tiers: [],
  } as unknown as ReplayPlan['binding']
  const plan: ReplayPlan = { binding, route: { kind: 'ORIGINAL' }, maxReplays: 3, partitionsOf: () => 1 }
  const used = { ...readDeadLetter(fetched(textRecord('orders.DLT'))), replayCount: 3 }
  expect(objectionTo(used, plan)).toBe('MAX_REPLAYS')
  expect(objectionTo(used, { ...plan, route: { kind: 'RELEASE', topic: 'orders.waiting' } })).toBeUndefined()
})

test('a dead letter that stands for a batch has no content to replay', () => {
  const binding = {
    name: 'shipping',
    topic: 'orders',
    groupId: 'shipping',
    tiers: [],
  } as unknown as ReplayPlan['binding']
  const plan: ReplayPlan = { binding, route: { kind: 'ORIGINAL' }, maxReplays: 3, partitionsOf: () => 1 }
  const batch = readDeadLetter(fetched(textRecord('orders.DLT', [['x-eventbus-dlt-batch-last-offset', '9']])))
  expect(objectionTo(batch, plan)).toBe('OVERSIZED_BATCH')
})
