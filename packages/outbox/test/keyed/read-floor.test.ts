import { describe, expect, test } from 'vitest'
import { ReadFloor } from '../../src/keyed/read-floor.ts'

/** A read that kept all it brought. @param last undefined: nothing came @param limit how many rows it could bring */
function read(floor: ReadFloor, settled: bigint | null, last: bigint | undefined, isWhole = true): bigint | null {
  const from = floor.begin(settled)
  floor.keptUpTo(isWhole ? null : (last ?? null))
  floor.end(last)
  return from
}

describe('the floor of reads', () => {
  test('is the last row that came, and stays when none came', () => {
    const floor = new ReadFloor()
    expect(read(floor, null, 5n)).toBeNull()
    expect(read(floor, null, undefined)).toBe(5n)
    expect(read(floor, null, 9n)).toBe(5n)
  })

  test('falls to the lowest that was asked for, also during a read and when that failed', () => {
    const floor = new ReadFloor()
    read(floor, null, 9n)
    floor.begin(null)
    floor.lower(4n)
    floor.lower(6n)
    floor.end(12n)
    expect(read(floor, null, 12n)).toBe(4n)
    floor.begin(null)
    floor.lower(7n)
    floor.abandon()
    expect(floor.begin(null)).toBe(7n)
  })
})

describe('what is complete', () => {
  test.each([
    ['nothing, where numbers are not known to be settled', null, 5n, true, null],
    ['all that is settled, after a read that came to the end', 7n, 5n, true, 7n],
    ['all that is settled, after a read that brought nothing', 7n, undefined, true, 7n],
    ['what was read, where more is settled', 7n, 5n, false, 5n],
    ['what is settled, where more was read', 7n, 9n, false, 7n],
  ] as const)('is %s', (_, settled, last, isWhole, complete) => {
    const floor = new ReadFloor()
    read(floor, settled, last, isWhole)
    expect(floor.complete).toBe(complete)
  })

  test('does not grow by a read that began above it', () => {
    const floor = new ReadFloor()
    read(floor, 3n, 5n)
    expect(floor).toMatchObject({ complete: 3n, isBehind: true })
    read(floor, 9n, 8n)
    expect(floor.complete).toBe(3n)
    floor.lower(3n)
    read(floor, 9n, 8n)
    expect(floor).toMatchObject({ complete: 9n, isBehind: false })
  })

  test('does not fall by a read that began far below', () => {
    const floor = new ReadFloor()
    read(floor, 9n, 9n)
    floor.lower(null)
    read(floor, 9n, 4n, false)
    expect(floor.complete).toBe(9n)
  })

  test('is in doubt from where a key was held, also when its hold ends during a read', () => {
    const floor = new ReadFloor()
    read(floor, 9n, 9n)
    floor.begin(12n)
    floor.doubt(6n)
    floor.keptUpTo(null)
    floor.end(12n)
    expect(floor.complete).toBe(6n)
  })

  test('leaves the part between it and a read unsure', () => {
    const floor = new ReadFloor()
    floor.begin(3n)
    expect(floor.unsure).toBeUndefined()
    floor.keptUpTo(null)
    floor.end(5n)
    floor.begin(3n)
    expect(floor.unsure).toEqual({ above: 3n, upTo: 5n })
  })
})

test('I7 what is doubted during a read stays in doubt, though the read kept all of its rows', () => {
  const floor = new ReadFloor()
  floor.begin(100n)
  floor.doubt(5n)
  floor.doubt(7n)
  floor.keptUpTo(null)
  floor.end(9n)
  expect([floor.next, floor.complete]).toEqual([9n, 5n])
})
