import { describe, expect, test } from 'vitest'
import { ParkedKeys, type ProbeRow, probeQuery } from '../../src/keyed/parked-keys.ts'

const keyOf = (aggregateId: string) => ({ aggregateType: 'order', aggregateId })

function rowOf(seq: bigint, key: string | null, complete: bigint | null = null): ProbeRow {
  return { seq, eventId: `event-${seq}`, key: key === null ? null : keyOf(key), complete }
}

describe('a parked key', () => {
  test('I7 waits from its parked row on, and not before it', () => {
    const parked = new ParkedKeys()
    parked.park('away', rowOf(5n, 'a'))
    expect([4n, 5n, 6n].map((seq) => parked.destinationOf(keyOf('a'), seq))).toEqual([undefined, 'away', 'away'])
    expect(parked.destinationOf(keyOf('b'), 6n)).toBeUndefined()
  })

  test('is free once its destination is released, while others wait', () => {
    const parked = new ParkedKeys()
    parked.park('away', rowOf(1n, 'a'))
    parked.park('elsewhere', rowOf(2n, 'b'))
    parked.park('away', rowOf(3n, 'c'))
    parked.release('away')
    expect(parked.destinationOf(keyOf('a'), 1n)).toBeUndefined()
    expect(parked.destinationOf(keyOf('b'), 2n)).toBe('elsewhere')
    parked.prune()
    expect([parked.size, parked.isEmpty]).toEqual([1, false])
    parked.release('elsewhere')
    expect([parked.size, parked.isEmpty]).toEqual([0, true])
  })

  test('I7 is read again from the lowest row of its destination, complete only up to the lowest point', () => {
    const parked = new ParkedKeys()
    parked.park('away', rowOf(7n, 'a', 6n))
    parked.park('away', rowOf(3n, 'b', 2n))
    parked.park('away', rowOf(9n, 'c', 8n))
    expect(parked.release('away')).toMatchObject({ from: 3n, complete: 2n })
    expect(parked.release('away')).toBeUndefined()
    parked.park('away', rowOf(7n, 'a', 6n))
    parked.doubt()
    expect(parked.release('away')).toMatchObject({ from: 7n, complete: null })
  })
})

describe('the probe rows of a destination', () => {
  test('are at most four, one per key', () => {
    const parked = new ParkedKeys()
    for (let n = 1; n <= 6; n++) parked.park('away', rowOf(BigInt(n), `key-${n}`))
    parked.park('away', rowOf(0n, 'key-2'))
    expect(parked.probesOf('away')?.map(({ seq }) => seq)).toEqual([1n, 0n, 3n, 4n])
    expect(parked.probesOf('elsewhere')).toBeUndefined()
  })

  test('take turns, without those that are gone', () => {
    const parked = new ParkedKeys()
    const [one, two, three] = [rowOf(1n, 'a'), rowOf(2n, 'b'), rowOf(3n, null)]
    for (const row of [one, two, three]) parked.park('away', row)
    parked.turn('away', one, false)
    expect(parked.probesOf('away')).toEqual([two, three, one])
    parked.turn('away', two, true)
    expect(parked.probesOf('away')).toEqual([three, one])
  })

  test('I7 leave out a row of a key that has waited for another destination since an earlier row', () => {
    const parked = new ParkedKeys()
    parked.park('away', rowOf(5n, 'a'))
    parked.park('elsewhere', rowOf(4n, 'a'))
    expect(parked.probesOf('away')).toEqual([])
    expect(parked.probesOf('elsewhere')).toHaveLength(1)
  })
})

test('I7 a probe is queried with the earlier rows of its key, unless there can be none', () => {
  const row = { shard: 3, floor: 9n, without: [] }
  expect(probeQuery(3, rowOf(10n, null), [])).toEqual({ row, earlier: undefined })
  expect(probeQuery(3, rowOf(10n, 'a', 9n), [])).toEqual({ row, earlier: undefined })
  const earlier = { shard: 3, upTo: 9n, keys: [keyOf('a')], except: [2n] }
  expect(probeQuery(3, rowOf(10n, 'a', 8n), [2n])).toEqual({ row, earlier: { ...earlier, above: 8n } })
  expect(probeQuery(3, rowOf(10n, 'a'), [2n])).toEqual({ row, earlier: { ...earlier, above: null } })
})
