import { describe, expect, test } from 'vitest'
import { decideStep, type RunState } from '../../src/operations/decide-step.ts'

const outcomes = { succeeded: 0n, retrying: 0n, failedAgain: 0n, skipped: 0n }
const canary = { count: 5, settleMs: 1_000, onSettled: 'PAUSE' } as const

function state(given: {
  sent?: bigint
  cursor?: object
  outcomes?: Partial<typeof outcomes>
  limits?: Partial<RunState['limits']>
  wish?: 'PAUSE' | 'CANCEL'
  rate?: number
  awaitedMs?: number
}): RunState {
  return {
    limits: {
      limit: 1_000,
      rate: 50,
      canary: undefined,
      abortWhen: { failureRate: 0.2, minimum: 20 },
      ...given.limits,
    },
    orders: { wish: given.wish, rate: given.rate ?? 50 },
    progress: {
      scanned: 0n,
      sent: given.sent ?? 0n,
      refused: {},
      mayBeRepeated: 0n,
      remaining: [],
      cursor: given.cursor,
    },
    outcomes: { ...outcomes, ...given.outcomes },
    awaitedMs: given.awaitedMs ?? 0,
  }
}

const end = (of: object) => expect.objectContaining({ kind: 'END', end: of }) as unknown

describe('the next step of a run', () => {
  test.each([
    ['is a batch of one second at the rate', state({ rate: 7.9 }), { kind: 'BATCH', maxCount: 7 }],
    ['is one record at a rate below one', state({ rate: 0.1 }), { kind: 'BATCH', maxCount: 1 }],
    ['is at most 100 records', state({ rate: 10_000 }), { kind: 'BATCH', maxCount: 100 }],
    ['is at most what the limit leaves', state({ sent: 998n }), { kind: 'BATCH', maxCount: 2 }],
    ['is the end at the limit', state({ sent: 1_000n }), end({ state: 'DONE' })],
    ['follows a pause', state({ wish: 'PAUSE' }), end({ state: 'PAUSED', pausedBy: 'OPERATOR' })],
    ['follows a cancel, also at the limit', state({ wish: 'CANCEL', sent: 1_000n }), end({ state: 'CANCELLED' })],
    ['is the rest of the canary', state({ sent: 3n, limits: { canary } }), { kind: 'BATCH', maxCount: 2 }],
    [
      'awaits the canary',
      state({ sent: 5n, outcomes: { succeeded: 4n }, limits: { canary } }),
      { kind: 'AWAIT_CANARY' },
    ],
    [
      'pauses once every copy of the canary is settled',
      state({ sent: 5n, outcomes: { succeeded: 5n }, limits: { canary } }),
      end({ state: 'PAUSED', pausedBy: 'CANARY' }),
    ],
    [
      'pauses when the time for the canary is over',
      state({ sent: 5n, awaitedMs: 1_000, limits: { canary } }),
      end({ state: 'PAUSED', pausedBy: 'CANARY' }),
    ],
    [
      'continues after a canary that does not pause',
      state({ sent: 5n, outcomes: { succeeded: 5n }, limits: { canary: { ...canary, onSettled: 'CONTINUE' } } }),
      { kind: 'BATCH', maxCount: 50 },
    ],
    [
      'pauses by the rule if the canary failed, whatever its minimum',
      state({
        sent: 5n,
        outcomes: { succeeded: 3n, retrying: 2n },
        limits: { canary: { ...canary, onSettled: 'CONTINUE' } },
      }),
      end({ state: 'PAUSED', pausedBy: 'ABORT_RULE' }),
    ],
    [
      'continues after the canary',
      state({ sent: 5n, cursor: { isCanaryOver: true }, limits: { canary } }),
      { kind: 'BATCH', maxCount: 50 },
    ],
    ['awaits no more than the limit', state({ sent: 2n, limits: { canary, limit: 2 } }), { kind: 'AWAIT_CANARY' }],
    [
      'pauses when more copies failed than the rule allows',
      state({ sent: 100n, outcomes: { succeeded: 15n, retrying: 3n, failedAgain: 2n } }),
      end({ state: 'PAUSED', pausedBy: 'ABORT_RULE' }),
    ],
    [
      'continues at exactly the failure rate',
      state({ sent: 100n, outcomes: { succeeded: 16n, failedAgain: 4n } }),
      { kind: 'BATCH', maxCount: 50 },
    ],
    [
      'continues below the minimum',
      state({ sent: 100n, outcomes: { failedAgain: 19n } }),
      { kind: 'BATCH', maxCount: 50 },
    ],
    [
      'continues without a rule',
      state({ outcomes: { failedAgain: 500n }, limits: { abortWhen: false } }),
      { kind: 'BATCH', maxCount: 50 },
    ],
    [
      'counts only failures since an operator resumed',
      state({
        sent: 100n,
        outcomes: { failedAgain: 30n, succeeded: 10n },
        cursor: { forgiven: { settled: 30, failed: 30 } },
      }),
      { kind: 'BATCH', maxCount: 50 },
    ],
  ])('%s', (_, given, expected) => expect(decideStep(given)).toEqual(expected))
})
