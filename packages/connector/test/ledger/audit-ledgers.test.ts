import { describe, expect, test } from 'vitest'
import { auditLedgers } from '../../src/ledger/audit-ledgers.ts'
import type { LedgerState, WaitingLedgerState } from '../../src/ledger/ledger.ts'
import { OffsetSet } from '../../src/ledger/offset-set.ts'

const source: LedgerState = {
  since: 100n,
  position: 110n,
  counts: { ok: 5n, retried: 4n, dead: 1n, skipped: 1n, holes: 1n },
  settledAbove: OffsetSet.of(110n, [112n, 115n]),
}

const waiting: WaitingLedgerState = {
  since: 0n,
  position: 7n,
  counts: { ok: 2n, retried: 1n, dead: 1n, skipped: 3n, holes: 0n },
  settledAbove: OffsetSet.empty(7n),
  replaysFinished: 1n,
  waitingNow: 2n,
}

describe('D22 the loss audit', () => {
  test('finds nothing where every settled offset is counted once', () => {
    expect(auditLedgers(source)).toEqual([])
    expect(auditLedgers(source, waiting)).toEqual([])
  })

  test('names an offset without an outcome', () => {
    const lost = { ...source, counts: { ...source.counts, ok: 4n } }
    expect(auditLedgers(lost)).toEqual([{ equation: 'SOURCE', due: 12n, accounted: 11n, missing: 1n }])
  })

  test('names an outcome that is counted twice', () => {
    const twice = { ...waiting, counts: { ...waiting.counts, skipped: 5n } }
    expect(auditLedgers(source, twice)).toEqual([{ equation: 'WAITING', due: 7n, accounted: 9n, missing: -2n }])
  })

  test('names an original that left the source and neither waits nor ended', () => {
    const lost = { ...waiting, waitingNow: 1n }
    expect(auditLedgers(source, lost)).toEqual([{ equation: 'ORIGINALS', due: 5n, accounted: 4n, missing: 1n }])
  })

  test('does not let a duplicate hide a loss', () => {
    const both = { ...waiting, waitingNow: 1n, counts: { ...waiting.counts, skipped: 4n }, position: 8n }
    expect(auditLedgers(source, both).map(({ equation }) => equation)).toEqual(['ORIGINALS'])
  })
})
