import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { floorLagMs, NewRowScan, sweepEveryMs } from '../../../src/outbox/poll/new-row-scan.ts'

describe('new rows are read', () => {
  test('from the start at first', () => {
    expect(new NewRowScan().floorFor(0)).toBe(null)
  })

  test('page by page above the last one while pages are full', () => {
    const scan = new NewRowScan()
    scan.floorFor(0)
    scan.read(50n, true, 1)
    expect(scan.floorFor(2)).toBe(50n)
    scan.read(100n, true, 3)
    expect(scan.floorFor(4)).toBe(100n)
  })

  test('from the start again while nothing is older than the lag: a late commit is found by the next look', () => {
    const scan = new NewRowScan()
    scan.floorFor(0)
    scan.read(10n, false, 0)
    expect(scan.floorFor(floorLagMs - 1)).toBe(null)
  })

  test('above what was read some seconds ago, once it is', () => {
    const scan = new NewRowScan()
    scan.floorFor(0)
    scan.read(10n, false, 0)
    scan.floorFor(5_000)
    scan.read(20n, false, 5_000)
    expect(scan.floorFor(6_000)).toBe(10n)
    scan.read(null, false, 6_000)
    expect(scan.floorFor(12_000)).toBe(20n)
  })

  test('from the start every so often, and when asked to', () => {
    const scan = new NewRowScan()
    scan.floorFor(0)
    scan.read(10n, false, 0)
    expect(scan.floorFor(sweepEveryMs - 1)).toBe(10n)
    scan.read(null, false, sweepEveryMs - 1)
    expect(scan.floorFor(sweepEveryMs)).toBe(null)
    scan.read(null, false, sweepEveryMs)
    expect(scan.floorFor(sweepEveryMs + 1)).toBe(10n)
    scan.sweepNext()
    expect(scan.floorFor(sweepEveryMs + 2)).toBe(null)
  })

  test('in a backlog from the floor again every few seconds, but a sweep is not cut short below it', () => {
    const scan = new NewRowScan()
    let now = 0
    scan.floorFor(now)
    scan.read(1_000n, true, now)
    now += floorLagMs
    expect(scan.floorFor(now)).toBe(1_000n)
    scan.read(2_000n, true, now)
    now += 3_000
    expect(scan.floorFor(now)).toBe(1_000n)
    scan.sweepNext()
    expect(scan.floorFor(now)).toBe(null)
    scan.read(10n, true, now)
    now += floorLagMs + 1_000
    expect(scan.floorFor(now)).toBe(10n)
  })
})

test('no row is missed for longer than a sweep and the walk to it, however late it is committed', () => {
  const inserted = fc.record({ at: fc.nat(60_000), commitsAfter: fc.nat(40_000) })
  fc.assert(
    fc.property(fc.array(inserted, { maxLength: 40 }), fc.integer({ min: 1, max: 10 }), (rows, limit) => {
      const table = rows
        .toSorted((one, other) => one.at - other.at)
        .map(({ at, commitsAfter }, n) => ({ seq: BigInt(n + 1), visibleAt: at + commitsAfter, readAt: -1 }))
      const scan = new NewRowScan()
      for (let now = 0; now < 200_000; ) {
        const floor = scan.floorFor(now)
        const page = table
          .filter(({ seq, visibleAt, readAt }) => readAt < 0 && visibleAt <= now && (floor === null || seq > floor))
          .slice(0, limit)
        for (const row of page) row.readAt = now
        const isFull = page.length === limit
        scan.read(page.at(-1)?.seq ?? null, isFull, now)
        now += isFull ? 1 : 1_000
      }
      for (const { readAt, visibleAt } of table) {
        expect(readAt).toBeGreaterThanOrEqual(0)
        expect(readAt - visibleAt).toBeLessThanOrEqual(sweepEveryMs + 2_000)
      }
    }),
  )
})
