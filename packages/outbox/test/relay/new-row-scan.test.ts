import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { farLagMs, farPassEveryMs, NewRowScan, nearLagMs, sweepEveryMs } from '../../src/relay/new-row-scan.ts'

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

  test('from the start again while nothing is older than the shortest lag', () => {
    const scan = new NewRowScan()
    scan.floorFor(0)
    scan.read(10n, false, 0)
    expect(scan.floorFor(nearLagMs - 1)).toBe(null)
  })

  test('above what was read a moment ago, and every second above what was read some seconds ago', () => {
    const scan = new NewRowScan()
    scan.floorFor(0)
    scan.read(10n, false, 0)
    scan.floorFor(6_000)
    scan.read(20n, false, 6_000)
    expect(scan.floorFor(6_500)).toBe(20n)
    scan.read(30n, false, 6_500)
    expect(scan.floorFor(7_000)).toBe(10n)
    scan.read(null, false, 7_000)
    expect(scan.floorFor(7_020)).toBe(30n)
    scan.read(null, false, 7_020)
    expect(scan.floorFor(13_000)).toBe(30n)
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

  test('from the start less often while that takes long, but at least every few minutes', () => {
    const scan = new NewRowScan()
    const sweepAt = (now: number, tookMs: number): void => {
      expect(scan.floorFor(now)).toBe(null)
      scan.read(10n, true, now + tookMs)
      // Only the first page walks over everything.
      expect(scan.floorFor(now + tookMs)).toBe(10n)
      scan.read(null, false, now + tookMs + 3_600_000)
    }
    sweepAt(0, 6_000)
    expect(scan.floorFor(119_999)).toBe(10n)
    scan.read(null, false, 119_999)
    sweepAt(120_000, 60_000)
    expect(scan.floorFor(419_999)).toBe(10n)
    scan.read(null, false, 419_999)
    sweepAt(420_000, 10)
    expect(scan.floorFor(450_000)).toBe(null)
  })

  test('in a backlog from the floor again every few seconds, but a sweep is not cut short below it', () => {
    const scan = new NewRowScan()
    let now = 0
    scan.floorFor(now)
    scan.read(1_000n, true, now)
    now += farLagMs
    expect(scan.floorFor(now)).toBe(1_000n)
    scan.read(2_000n, true, now)
    now += 3_000
    expect(scan.floorFor(now)).toBe(1_000n)
    scan.sweepNext()
    expect(scan.floorFor(now)).toBe(null)
    scan.read(10n, true, now)
    now += farLagMs + 1_000
    expect(scan.floorFor(now)).toBe(10n)
  })
})

/** A table whose rows appear late, read every so often by one scan. */
function readTable(
  rows: readonly { readonly at: number; readonly commitsAfter: number }[],
  { limit, everyMs, untilMs }: { readonly limit: number; readonly everyMs: number; readonly untilMs: number },
) {
  const table = rows
    .toSorted((one, other) => one.at - other.at)
    .map(({ at, commitsAfter }, n) => ({ at, seq: BigInt(n + 1), visibleAt: at + commitsAfter, readAt: -1, walks: 0 }))
  const scan = new NewRowScan()
  for (let now = 0; now < untilMs; ) {
    const floor = scan.floorFor(now)
    const seen = table.filter(({ seq, visibleAt }) => visibleAt <= now && (floor === null || seq > floor))
    for (const row of seen) if (row.readAt >= 0 && floor !== null) row.walks++
    const page = seen.filter(({ readAt }) => readAt < 0).slice(0, limit)
    for (const row of page) row.readAt = now
    const isFull = page.length === limit
    scan.read(page.at(-1)?.seq ?? null, isFull, now)
    now += isFull ? 1 : everyMs
  }
  return table
}

const inserted = fc.record({ at: fc.nat(60_000), commitsAfter: fc.nat(40_000) })

test('a row that is committed late is found by the next look, within a second, or by a sweep, by how late it is', () => {
  const everyMs = 50
  fc.assert(
    fc.property(fc.array(inserted, { maxLength: 20 }), (late) => {
      // Others go by all the time: each late row is soon below the highest one read.
      const others = Array.from({ length: 400 }, (_, n) => ({ at: n * 250, commitsAfter: 0 }))
      const table = readTable([...others, ...late], { limit: 500, everyMs, untilMs: 140_000 })
      for (const { at, visibleAt, readAt } of table) {
        const lateness = visibleAt - at
        const waits = lateness <= nearLagMs - everyMs ? 0 : lateness <= farLagMs ? farPassEveryMs : sweepEveryMs
        expect(readAt).toBeGreaterThanOrEqual(0)
        expect(readAt - visibleAt).toBeLessThanOrEqual(waits + everyMs)
      }
    }),
    // Committed between two passes, almost as late as a pass reaches.
    { numRuns: 10, examples: [[[{ at: 14_322, commitsAfter: 4_729 }]]] },
  )
})

test('a finished row is walked over a bounded number of times, sweeps left out, however long the table keeps it', () => {
  const everyMs = 20 // As eager as polling gets.
  const rows = Array.from({ length: 600 }, (_, n) => ({ at: 10_000 + n * 50, commitsAfter: 0 }))
  const table = readTable(rows, { limit: 500, everyMs, untilMs: 60_000 })
  // A floor lags by up to a slice more than it says.
  const most =
    Math.ceil((nearLagMs / everyMs) * 1.25) + Math.ceil(((farLagMs + farPassEveryMs) / farPassEveryMs) * 1.25) + 2
  for (const { walks } of table) expect(walks).toBeLessThanOrEqual(most)
})

test('no row is missed for longer than a sweep and the walk to it, however late it is committed', () => {
  fc.assert(
    fc.property(fc.array(inserted, { maxLength: 40 }), fc.integer({ min: 1, max: 10 }), (rows, limit) => {
      for (const { readAt, visibleAt } of readTable(rows, { limit, everyMs: 1_000, untilMs: 200_000 })) {
        expect(readAt).toBeGreaterThanOrEqual(0)
        expect(readAt - visibleAt).toBeLessThanOrEqual(sweepEveryMs + 2_000)
      }
    }),
  )
})
