import { describe, expect, test } from 'vitest'
import { auditLedgers } from '../../../src/ledger/audit-ledgers.ts'
import { encodeCommitMetadata } from '../../../src/ledger/commit-metadata.ts'
import { type LedgerState, ledgerStateAt, type WaitingLedgerState } from '../../../src/ledger/ledger.ts'
import { OffsetSet } from '../../../src/ledger/offset-set.ts'
import { openWaiting as open } from '../../../src/partition/key-order/open-waiting.ts'

const counts = { ok: 0n, retried: 0n, dead: 0n, skipped: 0n, holes: 0n }

/** 12 of the source are settled, 2 of them above position 10; 2 of those that moved to the waiting topic wait. */
const source: LedgerState = {
  since: 0n,
  position: 10n,
  counts: { ...counts, ok: 9n, retried: 3n },
  settledAbove: OffsetSet.of(10n, [12n, 14n]),
}
const waiting: WaitingLedgerState = {
  since: 0n,
  position: 4n,
  counts: { ...counts, ok: 1n, skipped: 4n },
  settledAbove: OffsetSet.of(4n, [6n]),
  replaysFinished: 0n,
  waitingNow: 2n,
}

function committed(offset: bigint | null, metadata: string | null) {
  return { topic: 'orders', partition: 0, offset, metadata }
}

const openWaiting = (known: Omit<Parameters<typeof open>[0], 'hasWaited'>) => open({ ...known, hasWaited: false })

describe('openWaiting', () => {
  test('goes on with both ledgers of one commit, whatever was committed for the waiting topic itself', () => {
    const metadata = encodeCommitMetadata(source, waiting)
    const opened = openWaiting({ committed: committed(10n, metadata), source: 10n, waiting: 9n })
    expect(opened).toMatchObject({ isAnew: false, problem: undefined })
    expect(encodeCommitMetadata(opened.source, opened.waiting)).toBe(metadata)
  })

  test('begins anew where the client reads when nothing was committed', () => {
    const opened = openWaiting({ committed: committed(null, null), source: 7n, waiting: 2n })
    expect(opened).toMatchObject({ isAnew: true, problem: undefined })
    expect([opened.source.position, opened.waiting.position]).toEqual([7n, 2n])
  })

  test('begins anew, and says why, when somebody has reset the group', () => {
    const opened = openWaiting({ committed: committed(10n, ''), source: 10n, waiting: 3n })
    expect(opened).toMatchObject({ isAnew: true, problem: 'the commit has no metadata' })
    expect([opened.source.since, opened.waiting.since]).toEqual([10n, 3n])
  })

  test('begins anew without a word when the log begins above the commit: the client tells of that', () => {
    const metadata = encodeCommitMetadata(source, waiting)
    const opened = openWaiting({ committed: committed(10n, metadata), source: 20n, waiting: 4n })
    expect(opened).toMatchObject({ isAnew: true, problem: undefined, source: { position: 20n } })
  })

  test('goes on with a binding that never moved a record when its order of keys begins to count', () => {
    const before = { ...ledgerStateAt(5n), since: 0n, counts: { ...counts, ok: 5n } }
    const opened = openWaiting({ committed: committed(5n, encodeCommitMetadata(before)), source: 5n, waiting: 0n })
    expect(opened).toMatchObject({ isAnew: false, problem: undefined, source: { since: 0n, counts: { ok: 5n } } })
  })

  test('counts anew when records are in the tiers of another ordering mode, and forgets none that is settled', () => {
    const opened = openWaiting({ committed: committed(10n, encodeCommitMetadata(source)), source: 10n, waiting: 0n })
    expect(opened.isAnew).toBe(true)
    expect(opened.problem).toMatch(/order of keys/)
    expect([...opened.source.settledAbove]).toEqual([12n, 14n])
    expect(auditLedgers(opened.source, opened.waiting)).toEqual([])
  })

  test('says so when only the waiting topic has a commit: the source was deleted, or its commit was', () => {
    const none = open({ committed: committed(null, null), source: 0n, waiting: 3n, hasWaited: true })
    expect(none).toMatchObject({ isAnew: true, problem: expect.stringContaining('only its waiting topic') })
    const begun = encodeCommitMetadata(ledgerStateAt(7n))
    const latest = open({ committed: committed(7n, begun), source: 7n, waiting: 3n, hasWaited: true })
    expect(latest.problem).toContain('only its waiting topic')
  })

  test('has nothing to say of a group that did without the waiting topic for a while', () => {
    const before = { ...ledgerStateAt(5n), since: 0n, counts: { ...counts, ok: 5n } }
    const known = { committed: committed(5n, encodeCommitMetadata(before)), source: 5n, waiting: 3n, hasWaited: true }
    expect(open(known).problem).toBeUndefined()
  })
})
