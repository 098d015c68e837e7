import { StateError } from '@waybill/core'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { auditLedgers } from '../../src/ledger/audit-ledgers.ts'
import { isGapless } from '../../src/ledger/is-gapless.ts'
import { Ledger, type LedgerState, ledgerStateAt, type Settlement } from '../../src/ledger/ledger.ts'
import { OffsetSet } from '../../src/ledger/offset-set.ts'
import { NaiveLedger } from './naive-ledger.ts'

const fetchAll = (ledger: Ledger, ...offsets: bigint[]): boolean[] => offsets.map((offset) => ledger.fetched(offset))
const settleAll = (ledger: Ledger, ...offsets: bigint[]): void => {
  for (const offset of offsets) ledger.settle(offset, 'OK')
}

/** In a form that two sets of the same offsets share. */
const plain = (state: LedgerState): object => ({ ...state, settledAbove: [...state.settledAbove] })

describe('a ledger', () => {
  test('has its watermark at the lowest offset that is not settled, whatever is settled above it', () => {
    const ledger = new Ledger(ledgerStateAt(10n))
    fetchAll(ledger, 10n, 11n, 12n, 13n)
    settleAll(ledger, 12n, 13n)
    expect(ledger.watermark).toBe(10n)
    expect([...ledger.state().settledAbove]).toEqual([12n, 13n])
    settleAll(ledger, 10n)
    expect(ledger.watermark).toBe(11n)
    settleAll(ledger, 11n)
    expect(ledger.watermark).toBe(14n)
    expect(ledger.state().settledAbove.size).toBe(0)
  })

  test('counts each record by how it was settled', () => {
    const ledger = new Ledger(ledgerStateAt(0n))
    const settlements: Settlement[] = ['OK', 'RETRIED', 'DEAD', 'SKIPPED', 'OK']
    for (const [index, as] of settlements.entries()) {
      ledger.fetched(BigInt(index))
      ledger.settle(BigInt(index), as)
    }
    expect(ledger.state().counts).toEqual({ ok: 2n, retried: 1n, dead: 1n, skipped: 1n, holes: 0n })
  })

  test('skips holes between records, before the first and after the last', () => {
    const ledger = new Ledger(ledgerStateAt(0n))
    fetchAll(ledger, 3n)
    expect(ledger.watermark).toBe(3n)
    fetchAll(ledger, 7n)
    settleAll(ledger, 3n)
    expect(ledger.watermark).toBe(7n)
    settleAll(ledger, 7n)
    ledger.reached(10n)
    expect(ledger.watermark).toBe(10n)
    expect(ledger.state().counts).toEqual({ ok: 2n, retried: 0n, dead: 0n, skipped: 0n, holes: 8n })
  })

  test('remembers no more than the highest settled record, however wide a hole above the watermark is', () => {
    const ledger = new Ledger(ledgerStateAt(0n))
    fetchAll(ledger, 0n, 1n, 50_000_000n)
    settleAll(ledger, 1n)
    expect(plain(ledger.state())).toMatchObject({ position: 0n, counts: { ok: 1n, holes: 0n }, settledAbove: [1n] })
    settleAll(ledger, 0n)
    expect(plain(ledger.state())).toMatchObject({ position: 50_000_000n, counts: { ok: 2n, holes: 49_999_998n } })
  })

  test('drops records that an earlier assignment settled, and counts them once', () => {
    const began = { ...ledgerStateAt(5n), since: 4n, settledAbove: OffsetSet.of(5n, [6n, 8n]) }
    const ledger = new Ledger({ ...began, counts: { ...began.counts, ok: 2n, dead: 1n } })
    expect(fetchAll(ledger, 5n, 6n, 7n, 8n, 9n)).toEqual([true, false, true, false, true])
    settleAll(ledger, 5n)
    expect(ledger.watermark).toBe(7n)
    settleAll(ledger, 7n, 9n)
    expect(plain(ledger.state())).toMatchObject({ since: 4n, position: 10n, counts: { ok: 5n, dead: 1n } })
  })

  test('keeps offsets that an earlier assignment settled though none was fetched again', () => {
    const began = { ...ledgerStateAt(5n), since: 3n, settledAbove: OffsetSet.of(5n, [6n, 7n, 9n]) }
    const ledger = new Ledger({ ...began, counts: { ...began.counts, ok: 5n } })
    expect(plain(ledger.state())).toMatchObject({ position: 5n, settledAbove: [6n, 7n, 9n] })
    fetchAll(ledger, 5n)
    settleAll(ledger, 5n)
    expect(plain(ledger.state())).toMatchObject({ position: 8n, counts: { ok: 6n }, settledAbove: [9n] })
  })

  test('counts the offsets after the last one settled before as holes, not that offset', () => {
    const began = { ...ledgerStateAt(5n), since: 4n, settledAbove: OffsetSet.of(5n, [7n]) }
    const ledger = new Ledger({ ...began, counts: { ...began.counts, ok: 2n } })
    expect(fetchAll(ledger, 5n, 6n, 9n)).toEqual([true, true, true])
    settleAll(ledger, 5n, 6n, 9n)
    expect(plain(ledger.state())).toMatchObject({ position: 10n, counts: { ok: 5n, holes: 1n } })
  })

  test('reports as settled what this assignment settled and all below the watermark, but no hole above it', () => {
    const before = new Ledger(ledgerStateAt(10n))
    fetchAll(before, 10n, 11n, 12n)
    settleAll(before, 12n)
    const ledger = new Ledger(before.state())
    fetchAll(ledger, 10n, 11n, 15n)
    settleAll(ledger, 10n, 15n)
    const offsets = [9n, 10n, 11n, 12n, 13n, 14n, 15n, 16n]
    const settledOf = (): bigint[] => offsets.filter((offset) => ledger.isSettled(offset))
    expect(settledOf()).toEqual([9n, 10n, 15n])
    settleAll(ledger, 11n)
    expect(settledOf()).toEqual([9n, 10n, 11n, 12n, 13n, 14n, 15n])
  })

  test('handles endless bursts that start anywhere in its ring buffer', () => {
    const ledger = new Ledger(ledgerStateAt(0n))
    let next = 0n
    for (const burst of [50, 50, 40, 63, 100, 300, 50]) {
      const offsets = Array.from({ length: burst }, () => next++)
      fetchAll(ledger, ...offsets)
      settleAll(ledger, ...offsets.toReversed())
      expect(ledger.watermark).toBe(next)
    }
  })

  test('works above 2^53', () => {
    const start = 2n ** 62n
    const ledger = new Ledger(ledgerStateAt(start))
    fetchAll(ledger, start, start + 1n, start + 2n)
    settleAll(ledger, start + 1n)
    expect([...ledger.state().settledAbove]).toEqual([start + 1n])
    settleAll(ledger, start)
    expect(ledger.watermark).toBe(start + 2n)
  })

  test.for([
    ['settled twice, below the watermark', [0n, 1n], [0n], 0n],
    ['settled twice, above the watermark', [0n, 1n], [1n], 1n],
    ['never fetched, ahead', [0n, 1n], [], 2n],
    ['never fetched, behind', [0n, 1n], [], -1n],
    ['a hole', [0n, 3n], [], 2n],
  ] as const)('refuses to settle an offset that is %s, and changes nothing', ([, fetched, settled, offset]) => {
    const ledger = new Ledger(ledgerStateAt(0n))
    fetchAll(ledger, ...fetched)
    settleAll(ledger, ...settled)
    const before = plain(ledger.state())
    expect(() => ledger.settle(offset, 'OK')).toThrow(StateError)
    expect(plain(ledger.state())).toEqual(before)
  })

  test('adds and settles consecutive records as a run, with the same result as one by one', () => {
    const ledger = new Ledger(ledgerStateAt(10n))
    expect(ledger.fetchedRun(12n, 300)).toBe(true)
    ledger.settleRunAt(3, 299, 'OK')
    expect(plain(ledger.state())).toMatchObject({ position: 12n, counts: { ok: 299n, holes: 2n } })
    ledger.settleRunAt(2, 1, 'SKIPPED')
    expect(plain(ledger.state())).toMatchObject({ position: 312n, counts: { ok: 299n, skipped: 1n, holes: 2n } })
  })

  test('adds no run of records that an earlier assignment may have settled', () => {
    const ledger = new Ledger({ ...ledgerStateAt(5n), settledAbove: OffsetSet.of(5n, [7n]) })
    expect(ledger.fetchedRun(6n, 3)).toBe(false)
    expect(fetchAll(ledger, 6n, 7n)).toEqual([true, false])
    expect(ledger.fetchedRun(8n, 2)).toBe(true)
  })

  test.for([
    ['one of them is settled', [0n, 1n, 2n, 3n], [2n], 1, 3],
    ['there is a hole between them', [0n, 1n, 3n], [], 0, 3],
    ['the last was never fetched', [0n, 1n, 2n], [], 1, 3],
    ['the first was never fetched', [1n, 2n], [], 0, 2],
  ] as const)('refuses to settle records at once when %s, and changes nothing', ([, fetched, settled, first, size]) => {
    const ledger = new Ledger(ledgerStateAt(0n))
    fetchAll(ledger, ...fetched)
    settleAll(ledger, ...settled)
    const before = plain(ledger.state())
    expect(() => ledger.settleRunAt(first, size, 'OK')).toThrow(StateError)
    expect(plain(ledger.state())).toEqual(before)
  })

  test('rejects a run below a fetched offset', () => {
    const ledger = new Ledger(ledgerStateAt(5n))
    fetchAll(ledger, 5n, 6n)
    expect(() => ledger.fetchedRun(6n, 2)).toThrow('Offset 6 was fetched out of order: expected 7 or higher')
  })

  test('settles offsets that are not fetched like fetched ones, except those that an earlier assignment settled', () => {
    const distances = fc.uniqueArray(fc.integer({ min: 1, max: 40 }))
    fc.assert(
      fc.property(distances, fc.nat(12), fc.nat(9), fc.nat(30), (before, fetched, gap, size) => {
        const state = stateWith(100n, before)
        const [ledger, naive] = [new Ledger(state), new NaiveLedger(state)]
        for (let offset = 100n; offset < 100n + BigInt(fetched); offset++) {
          if (ledger.fetched(offset)) ledger.settle(offset, 'OK')
          if (naive.fetched(offset)) naive.settle(offset, 'OK')
        }
        const first = ledger.next + BigInt(gap)
        const last = first + BigInt(size)
        let dead = 0
        for (let offset = first; offset <= last; offset++) {
          if (!naive.fetched(offset)) continue
          naive.settle(offset, 'DEAD')
          dead++
        }
        expect(ledger.settleUnfetched(first, last, 'DEAD')).toBe(dead)
        expect(plain(ledger.state())).toEqual(plain(naive.state()))
        expect(ledger.fetched(last + 1n)).toBe(naive.fetched(last + 1n))
      }),
    )
  })

  test('settles nothing that is not fetched while a record before it is unsettled', () => {
    const ledger = new Ledger(ledgerStateAt(5n))
    fetchAll(ledger, 5n)
    expect(ledger.hasNoUnsettled).toBe(false)
    expect(() => ledger.settleUnfetched(6n, 9n, 'DEAD')).toThrow(StateError)
    settleAll(ledger, 5n)
    expect(() => ledger.settleUnfetched(5n, 9n, 'DEAD')).toThrow(StateError)
    expect(ledger.settleUnfetched(6n, 1_000_005n, 'DEAD')).toBe(1_000_000)
    expect(plain(ledger.state())).toMatchObject({
      position: 1_000_006n,
      counts: { dead: 1_000_000n },
      settledAbove: [],
    })
  })

  test('rejects an offset below a fetched one', () => {
    const ledger = new Ledger(ledgerStateAt(5n))
    fetchAll(ledger, 5n, 6n)
    expect(() => ledger.fetched(6n)).toThrow('Offset 6 was fetched out of order: expected 7 or higher')
    expect(() => ledger.fetched(4n)).toThrow(StateError)
  })
})

function stateWith(position: bigint, distances: readonly number[]): LedgerState {
  const state = ledgerStateAt(position)
  const offsets = distances.map((distance) => position + BigInt(distance))
  const counts = { ...state.counts, ok: BigInt(offsets.length) }
  return { ...state, counts, settledAbove: OffsetSet.of(position, offsets) }
}

function fetchBoth(ledger: Ledger, model: NaiveLedger, offset: bigint): void {
  expect(ledger.fetched(offset)).toBe(model.fetched(offset))
}

function fetchSome(
  ledger: Ledger,
  model: NaiveLedger,
  { fetch, gap, isRun }: { fetch: number; gap: number; isRun: boolean },
): void {
  const first = model.next + BigInt(gap)
  if (isRun && ledger.fetchedRun(first, fetch)) {
    for (let index = 0; index < fetch; index++) expect(model.fetched(first + BigInt(index))).toBe(true)
    return
  }
  fetchBoth(ledger, model, first)
  for (let count = 1; count < fetch; count++) fetchBoth(ledger, model, model.next)
}

function settleSome(
  ledger: Ledger,
  model: NaiveLedger,
  { settle, from, as, isRun }: { settle: number; from: number; as: Settlement; isRun: boolean },
): void {
  const { unsettled } = model
  const start = unsettled.length === 0 ? 0 : from % unsettled.length
  const offsets = unsettled.slice(start, start + settle)
  for (const offset of offsets) model.settle(offset, as)
  const [first] = offsets
  if (isRun && first !== undefined && isGapless(offsets.map((offset) => ({ offset }))))
    ledger.settleRunAt(ledger.distanceOf(first), offsets.length, as)
  else for (const offset of offsets) ledger.settle(offset, as)
}

describe('any course of a ledger', () => {
  const settlement = fc.constantFrom<Settlement>('OK', 'RETRIED', 'DEAD', 'SKIPPED')
  // Bursts are longer than what the ledger begins with room for.
  const burst = fc.oneof(
    { weight: 4, arbitrary: fc.constant(1) },
    { weight: 1, arbitrary: fc.integer({ min: 1, max: 50 }) },
  )
  const gap = fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(6) })
  const step = fc.oneof(
    { weight: 6, arbitrary: fc.record({ fetch: burst, gap, isRun: fc.boolean() }) },
    { weight: 6, arbitrary: fc.record({ settle: burst, from: fc.nat(), as: settlement, isRun: fc.boolean() }) },
    { weight: 1, arbitrary: fc.record({ reach: fc.nat(9) }) },
    { weight: 1, arbitrary: fc.constant('assigned anew' as const) },
  )
  const settledBefore = fc.uniqueArray(fc.integer({ min: 1, max: 40 }), { maxLength: 20 })
  const start = fc.constantFrom(0n, 7n, 2n ** 53n - 3n, 2n ** 62n)

  test('I20 D22 is what its definition says, and its counts add up after every step and every new assignment', () => {
    fc.assert(
      fc.property(start, settledBefore, fc.array(step, { maxLength: 60 }), (position, distances, steps) => {
        let ledger = new Ledger(stateWith(position, distances))
        let model = new NaiveLedger(stateWith(position, distances))
        for (const one of steps) {
          if (one === 'assigned anew') [ledger, model] = [new Ledger(ledger.state()), new NaiveLedger(ledger.state())]
          else if ('reach' in one) {
            const next = model.next + BigInt(one.reach)
            for (const it of [ledger, model]) it.reached(next)
          } else if ('fetch' in one) fetchSome(ledger, model, one)
          else settleSome(ledger, model, one)
          const state = ledger.state()
          expect(plain(state)).toEqual(plain(model.state()))
          expect(ledger.watermark).toBe(state.position)
          expect(auditLedgers(state)).toEqual([])
        }
      }),
      { numRuns: 400 },
    )
  })

  test('ends with its watermark behind the last record once everything is settled, in any order', () => {
    const order = fc.shuffledSubarray(
      Array.from({ length: 300 }, (_, index) => BigInt(index)),
      { minLength: 300 },
    )
    fc.assert(
      fc.property(order, (offsets) => {
        const ledger = new Ledger(ledgerStateAt(0n))
        for (let offset = 0n; offset < 300n; offset++) ledger.fetched(offset)
        settleAll(ledger, ...offsets)
        expect(plain(ledger.state())).toMatchObject({ position: 300n, counts: { ok: 300n }, settledAbove: [] })
      }),
      { numRuns: 50 },
    )
  })
})
