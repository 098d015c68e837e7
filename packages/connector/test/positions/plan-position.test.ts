import { describe, expect, test } from 'vitest'
import { type LedgerState, ledgerStateAt } from '../../src/ledger/ledger.ts'
import { OffsetSet } from '../../src/ledger/offset-set.ts'
import { waitingStateAt } from '../../src/partition/key-order/open-waiting.ts'
import { type IdlePartition, type PartitionMove, planPosition } from '../../src/positions/plan-position.ts'

const source: LedgerState = {
  since: 5n,
  position: 10n,
  counts: { ok: 5n, retried: 1n, dead: 0n, skipped: 0n, holes: 0n },
  settledAbove: OffsetSet.of(10n, [12n]),
}
const at: IdlePartition = { partition: 0, committed: 10n, ledgers: { source }, logStart: 2n, logEnd: 20n }
const skip = (...offsets: readonly bigint[]): PartitionMove => ({ type: 'SKIP', offsets, farthest: 8 })
const seek = (to: bigint): PartitionMove => ({ type: 'SEEK', to })

function refusal(of: IdlePartition, move: PartitionMove): string | undefined {
  const plan = planPosition(of, move)
  return plan !== undefined && 'refusal' in plan ? plan.refusal : undefined
}

describe('is refused', () => {
  test.each([
    ['a target before the log', at, seek(1n), 'offset 1 is not in its log [2..20]'],
    ['a target behind the log', at, seek(21n), 'offset 21 is not in its log [2..20]'],
    ['skipping an offset that is not written', at, skip(20n), 'offset 20 is not written yet'],
    ['skipping a settled offset', at, skip(9n), 'offset 9 already has an outcome'],
    ['skipping an offset settled above the position', at, skip(12n), 'offset 12 already has an outcome'],
    ['skipping an offset twice', at, skip(11n, 11n), 'an offset is named twice'],
    [
      'passing over what is too far ahead for a commit',
      at,
      skip(19n),
      'offset 19 is more than maxAhead (8) above 10, the next offset to read',
    ],
    [
      'skipping before the first commit',
      { ...at, committed: null, ledgers: { problem: 'nothing was committed' } },
      skip(11n),
      'its settled offsets are unknown, because nothing was committed; seek to its start offset, or reset it',
    ],
    [
      'skipping while the settled offsets are unknown',
      { ...at, ledgers: { problem: 'the commit has no metadata' } },
      skip(11n),
      'its settled offsets are unknown, because the commit has no metadata; seek to its start offset, or reset it',
    ],
  ])('%s', (_, of, move, why) => {
    expect(refusal(of, move)).toBe(why)
  })
})

test('nothing is planned when the partition is already at its target', () => {
  expect(planPosition(at, seek(10n))).toBeUndefined()
})

test('an offset is skipped as far ahead as a commit can hold', () => {
  expect(planPosition(at, skip(18n))).toMatchObject({ skipped: 1n, state: { position: 10n } })
})

test('counting restarts at the target when the commit cannot be read', () => {
  const plan = planPosition({ ...at, ledgers: { problem: 'the commit has no metadata' } }, seek(4n))
  expect(plan).toMatchObject({ state: ledgerStateAt(4n), isRestarted: true, skipped: 0n })
})

test('without a commit, skipped records are counted from the start offset on', () => {
  const fresh = { ...at, committed: null, ledgers: { problem: 'nothing was committed' } }
  expect(planPosition({ ...fresh, beginsAt: 2n }, seek(7n))).toMatchObject({ skipped: 5n, state: { since: 2n } })
  expect(planPosition({ ...fresh, beginsAt: 2n }, skip(3n))).toMatchObject({ skipped: 1n, state: { position: 2n } })
  expect(planPosition(fresh, seek(7n))).toMatchObject({ skipped: 0n, state: { since: 7n } })
})

describe('with a waiting topic', () => {
  const waiting = { ...waitingStateAt(30n), counts: { ...waitingStateAt(30n).counts, ok: 1n } }
  const settled = { ...at, ledgers: { source, waiting }, waitingEnd: 30n }

  test('nothing is moved while its entries are not settled', () => {
    expect(refusal({ ...settled, waitingEnd: 33n }, seek(15n))).toMatch(
      /^3 entries of its waiting topic are not settled \(0 records wait\)/,
    )
  })

  test('nothing is moved while its waiting records are unknown', () => {
    const unread = { ...settled, ledgers: { problem: 'the commit has no metadata' } }
    expect(refusal(unread, { type: 'RESET', to: 10n })).toMatch(/^its waiting records are unknown/)
  })

  test('its counters stay when the source moves forward, and restart with those of the source', () => {
    expect(planPosition(settled, seek(15n))).toMatchObject({ waiting })
    expect(planPosition(settled, seek(5n))).toMatchObject({ waiting: waitingStateAt(30n) })
  })
})
