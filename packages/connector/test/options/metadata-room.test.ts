import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { encodeCommitMetadata } from '../../src/ledger/commit-metadata.ts'
import type { LedgerState } from '../../src/ledger/ledger.ts'
import { OffsetSet } from '../../src/ledger/offset-set.ts'
import { planMetadataRoom } from '../../src/options/metadata-room.ts'

const largest = 2n ** 63n - 1n

/** Every counter at its largest, every bit in use. */
function fullState(span: number): LedgerState {
  const bits = new Uint8Array(Math.ceil(span / 8)).fill(0xff)
  if (span % 8 !== 0) bits[bits.length - 1] = 0xff >>> (8 - (span % 8))
  const counts = { ok: largest, retried: largest, dead: largest, skipped: largest, holes: largest }
  return { since: largest, position: largest, counts, settledAbove: new OffsetSet(largest, bits) }
}

describe('the room in the metadata of a commit', () => {
  test('is enough for the defaults, several times', () => {
    const room = planMetadataRoom({ orderingMode: 'KEY', maxAhead: 1_000, maxWaitingRecords: 1_000 })
    expect(room).toEqual({
      reach: 5_000,
      neededCharacters: 1_234,
      fits: true,
      arithmetic:
        '1000 offsets of maxAhead + 2 x (1000 of keyOrder.maxWaitingRecords + 1000) = 5000, at most 16384 fit; ' +
        '1234 characters, at most 4000 fit',
    })
  })

  test('ends where a set reaches farther than a ledger remembers', () => {
    expect(planMetadataRoom({ orderingMode: 'STRICT', maxAhead: 16_384, maxWaitingRecords: 9_999 }).fits).toBe(true)
    expect(planMetadataRoom({ orderingMode: 'STRICT', maxAhead: 16_385, maxWaitingRecords: 1 }).fits).toBe(false)
    expect(planMetadataRoom({ orderingMode: 'KEY', maxAhead: 2_000, maxWaitingRecords: 5_192 }).fits).toBe(true)
    expect(planMetadataRoom({ orderingMode: 'KEY', maxAhead: 2_000, maxWaitingRecords: 5_193 }).fits).toBe(false)
  })

  test('is really there for whatever fits', () => {
    fc.assert(
      fc.property(
        fc.constantFrom('KEY', 'STRICT', 'RELAXED_IN_RETRY'),
        fc.integer({ min: 1, max: 20_000 }),
        fc.integer({ min: 1, max: 10_000 }),
        (orderingMode, maxAhead, maxWaitingRecords) => {
          const { fits, reach } = planMetadataRoom({ orderingMode, maxAhead, maxWaitingRecords })
          fc.pre(fits)
          const source = fullState(maxAhead)
          const waiting = { ...fullState(reach - maxAhead), replaysFinished: largest, waitingNow: largest }
          const text = encodeCommitMetadata(source, orderingMode === 'KEY' ? waiting : undefined)
          expect(text.length).toBeLessThanOrEqual(4_000)
        },
      ),
      { numRuns: 50 },
    )
  })
})
