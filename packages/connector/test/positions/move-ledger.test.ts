import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { auditLedgers } from '../../src/ledger/audit-ledgers.ts'
import { Ledger, type LedgerState, ledgerStateAt, type Settlement } from '../../src/ledger/ledger.ts'
import { moveTo, restartAt, skipOffsets } from '../../src/positions/move-ledger.ts'

/** Returns a ledger that starts at 10 with these offsets settled. */
function stateWith(settled: readonly number[], last = Math.max(10, ...settled)): LedgerState {
  const ledger = new Ledger(ledgerStateAt(10n))
  for (let offset = 10; offset <= last; offset++) ledger.fetched(BigInt(offset))
  for (const offset of settled) ledger.settle(BigInt(offset), 'OK')
  return ledger.state()
}

describe('a move forward', () => {
  test('counts offsets in between without an outcome as skipped, and none twice', () => {
    const { state, skipped, repeated } = moveTo(stateWith([10, 13], 14), 15n)
    expect({ position: state.position, since: state.since, skipped, repeated }).toEqual({
      position: 15n,
      since: 10n,
      skipped: 3n,
      repeated: 0n,
    })
    expect(state.counts).toMatchObject({ ok: 2n, skipped: 3n })
  })

  test('to a settled offset continues after it, and offsets above stay settled', () => {
    const { state } = moveTo(stateWith([13, 15], 16), 13n)
    expect([state.position, [...state.settledAbove]]).toEqual([14n, [15n]])
    expect(state.counts).toMatchObject({ ok: 2n, skipped: 3n })
  })
})

describe('a move backward', () => {
  test('restarts the counters, and counts the redelivered offsets', () => {
    const { state, skipped, repeated } = moveTo(stateWith([10, 11, 13], 14), 11n)
    expect({ state, skipped, repeated }).toEqual({ state: ledgerStateAt(11n), skipped: 0n, repeated: 2n })
  })

  test('of a reset counts the settled offsets from its target on, which may be above the position', () => {
    const state = stateWith([10, 12, 14], 16)
    expect([11n, 12n, 13n, 15n].map((to) => restartAt(state, to).repeated)).toEqual([2n, 2n, 1n, 0n])
    expect(restartAt(undefined, 12n)).toMatchObject({ repeated: 0n, isRestarted: true })
  })
})

describe('skipping single records', () => {
  test('still delivers the records before them', () => {
    const { state } = skipOffsets(stateWith([]), [12n, 14n])
    expect([state.position, [...state.settledAbove], state.counts.skipped]).toEqual([10n, [12n, 14n], 2n])
  })

  test('advances the position over them, up to the next offset without an outcome', () => {
    const { state } = skipOffsets(stateWith([11, 12], 14), [10n])
    expect([state.position, state.settledAbove.size]).toEqual([13n, 0])
  })

  test('keeps a later assignment from delivering them', () => {
    const ledger = new Ledger(skipOffsets(stateWith([]), [11n]).state)
    expect([10n, 11n, 12n].map((offset) => ledger.fetched(offset))).toEqual([true, false, true])
  })
})

const settlements: readonly Settlement[] = ['OK', 'RETRIED', 'DEAD', 'SKIPPED']

test('I20 any moves of any ledger keep the audit equation', () => {
  const anyState = fc
    .array(fc.record({ offset: fc.integer({ min: 10, max: 60 }), as: fc.constantFrom(...settlements) }), {
      maxLength: 40,
    })
    .map((settled) => {
      const ledger = new Ledger(ledgerStateAt(10n))
      for (let offset = 10n; offset <= 60n; offset++) ledger.fetched(offset)
      for (const { offset, as } of new Map(settled.map((one) => [one.offset, one])).values())
        ledger.settle(BigInt(offset), as)
      return ledger.state()
    })
  const anyTo = fc.array(fc.bigInt({ min: 0n, max: 80n }), { minLength: 1, maxLength: 4 })
  fc.assert(
    fc.property(anyState, anyTo, (first, targets) => {
      let state = first
      for (const to of targets) {
        state = moveTo(state, to).state
        expect(auditLedgers(state)).toEqual([])
        expect(state.settledAbove.has(state.position)).toBe(false)
        const open = [state.position, state.position + 3n].filter((offset) => !state.settledAbove.has(offset))
        state = skipOffsets(state, open).state
        expect(auditLedgers(state)).toEqual([])
      }
      expect(auditLedgers(restartAt(state, 5n).state)).toEqual([])
    }),
  )
})
