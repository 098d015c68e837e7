import { createEnvelope } from '@waybill/core'
import type { ShardRow } from '@waybill/outbox/internal'
import { describe, expect, test } from 'vitest'
import { Destinations } from '../../src/destination/destinations.ts'
import type { ProbeRow } from '../../src/keyed/parked-keys.ts'
import { type QueuedRow, type ReadEnd, ShardQueue } from '../../src/keyed/shard-queue.ts'

const done = { kind: 'DONE' } as const
const whole: ReadEnd = { limit: 100, maxChain: 10, maxChainBytes: 1_000, isCut: false, now: 0, earlier: undefined }

/** A row whose event has one destination. */
function rowOf(seq: number, key: string | null, destination = 'away', dueInMs = 0): ShardRow {
  const event = createEnvelope({ eventType: destination, aggregateType: 'order', aggregateId: key, payloadJson: '{}' })
  const keyed = key === null ? null : { aggregateType: 'order', aggregateId: key }
  return { seq: BigInt(seq), eventId: event.eventId, attempts: 0, bytes: 10, event, shard: 3, key: keyed, dueInMs }
}

/** A shard, at a time that the test sets. */
function setup() {
  const time = { ms: 0 }
  const clock = { now: () => time.ms, monotonic: () => time.ms }
  const road = new Destinations({ clock, random: () => 0.5, closed: () => {}, opened: () => {} })
  const lease = { shard: 3, owner: 'me', version: 1n }
  const queue = new ShardQueue(lease, { onDeadKey: 'RELEASE', road, stalls: () => false })
  const read = (
    rows: readonly ShardRow[],
    { settled = null, ...end }: Partial<ReadEnd & { settled: bigint | null }> = {},
  ) => {
    const part = queue.beginRead(settled)
    queue.endRead(rows, { ...whole, ...end })
    return part
  }
  const take = (): QueuedRow => {
    const row = queue.take(time.ms)
    if (row === undefined) throw new Error('Nothing is ready.')
    return row
  }
  /** Makes destinations unavailable, by an event that is not in the shard. */
  const close = (...names: string[]): void => {
    for (const name of names) road.failed(rowOf(0, null, name).event as never, { destination: name }, 'away')
  }
  const probe = (lastFailed = ''): ProbeRow => {
    const row = queue.probeOf('away', lastFailed)
    if (typeof row === 'string') throw new Error(row)
    return row
  }
  return { time, road, queue, read, take, close, probe }
}

describe('rows that wait for an unavailable destination', () => {
  test('I7 are skipped with all later ones of their keys, and counted', () => {
    const { road, queue, read, take, close } = setup()
    close('away')
    read([rowOf(1, 'a'), rowOf(2, 'a', 'here'), rowOf(3, 'b', 'here'), rowOf(4, null)])
    expect(take().seq).toBe(3n)
    expect(queue.take(0)).toBeUndefined()
    expect([queue.size, queue.parkedKeys, queue.skipped]).toEqual([1, 1, 3])
    expect(road.unavailable()).toMatchObject([{ destination: 'away', waiting: 4 }])
    queue.sweep(0)
    expect(queue.skipped).toBe(3)
  })

  test('I7 leave memory with the later ones of their keys when one has failed, and start in order once it is back', () => {
    const { road, queue, read, take } = setup()
    const rows = [rowOf(1, 'a'), rowOf(2, 'a')]
    read(rows)
    const row = take()
    road.failed(row.event as never, { destination: undefined }, 'away')
    queue.wait(row, 'away')
    expect([queue.running, queue.size, queue.hasReady]).toEqual([0, 0, false])
    road.reached(row.event as never, road.failures)
    queue.opened('away')
    expect(queue.isHungry).toBe(true)
    expect(read(rows)).toMatchObject({ floor: 0n, without: [] })
    const first = take()
    expect([first.seq, queue.hasReady]).toEqual([1n, false])
    queue.settle(first, done, 0)
    expect(take().seq).toBe(2n)
  })

  test('are read again although more rows of their key were in memory than it may have', () => {
    const { queue, read, take } = setup()
    read([rowOf(1, 'a'), rowOf(2, 'a')], { maxChain: 1 })
    expect(queue.heldKeys).toBe(1)
    queue.wait(take(), 'away')
    queue.opened('away')
    expect(queue.beginRead(null)).toMatchObject({ floor: 0n, without: [] })
  })

  test('I7 are not overtaken by a row that is read while their destination becomes available', () => {
    const { road, queue, read, close } = setup()
    close('away')
    read([rowOf(1, 'a')])
    expect(queue.beginRead(null).floor).toBe(1n)
    road.reached(rowOf(0, null).event as never, road.failures)
    queue.opened('away')
    queue.endRead([rowOf(2, 'a')], whole)
    expect([queue.hasReady, queue.isHungry]).toEqual([false, true])
    expect(queue.beginRead(null).floor).toBe(0n)
    queue.endRead([rowOf(1, 'a'), rowOf(2, 'a')], whole)
    expect(queue.take(0)?.seq).toBe(1n)
  })

  test('I7 prove nothing to be complete that was read while they waited', () => {
    const { queue, read, close } = setup()
    close('away')
    const row = rowOf(1, 'a')
    read([row], { settled: 5n })
    queue.opened('away')
    queue.beginRead(5n)
    expect(queue.queryBelow([row])).toMatchObject({ above: null, upTo: 0n })
  })
})

describe('a probe of an unavailable destination', () => {
  test('is another row than the one that failed last, and none that is in memory', () => {
    const { time, queue, read, take, close, probe } = setup()
    close('away')
    const [one, two] = [rowOf(1, 'a'), rowOf(2, 'b')]
    read([one, two])
    const row = probe(one.eventId)
    expect(row.seq).toBe(2n)
    queue.placeProbe('away', row, two, 0)
    const other = probe(one.eventId)
    expect(other.seq).toBe(1n)
    queue.placeProbe('away', other, one, 0)
    expect(queue.probeOf('away', '')).toBe('BUSY')
    time.ms = 300
    expect(take().seq).toBe(2n)
    expect(queue.probeOf('elsewhere', '')).toBe('NONE')
  })

  test.each<[string, (row: ShardRow) => ShardRow | undefined]>([
    ['was not found', () => undefined],
    ['has the number of another event', (row) => ({ ...row, eventId: 'another' })],
    ['was deleted while it was read', (row) => ({ ...row, event: null, problem: null })],
  ])('is never a row that %s', (_, found) => {
    const { queue, read, close, probe } = setup()
    close('away')
    const row = rowOf(1, 'a')
    read([row])
    queue.placeProbe('away', probe(), found(row), 0)
    expect(queue.size).toBe(0)
    expect(queue.probeOf('away', '')).toBe('UNKNOWN')
  })

  test('is no row that is not due', () => {
    const { queue, read, close, probe } = setup()
    close('away')
    read([rowOf(1, 'a'), rowOf(2, 'b')])
    queue.placeProbe('away', probe(), rowOf(1, 'a', 'away', 500), 0)
    expect(queue.size).toBe(0)
  })

  test('I7 is no row behind an earlier one of its key that was committed late', () => {
    const { queue, read, take, close, probe } = setup()
    close('away')
    const row = rowOf(2, 'a')
    read([row])
    const known = probe()
    queue.readFrom(1n)
    read([rowOf(1, 'a', 'here'), row])
    expect(queue.probeOf('away', '')).toBe('BUSY')
    queue.placeProbe('away', known, row, 0)
    expect(queue.size).toBe(1)
    const earlier = take()
    queue.settle(earlier, { kind: 'RETRY', delayMs: 1_000, error: 'not now' }, 0)
    queue.confirm(earlier, 0, 0)
    expect(queue.probeOf('away', '')).toBe('BUSY')
  })

  test('I7 is no row behind an earlier one of its key that failed, and is due and unread again', () => {
    const { time, queue, read, take, close, probe } = setup()
    const rows = [rowOf(1, 'a', 'here'), rowOf(2, 'a')]
    const fail = (): void => {
      const row = take()
      queue.settle(row, { kind: 'RETRY', delayMs: 1_000, error: 'not now' }, time.ms)
      queue.confirm(row, 0, time.ms)
      queue.releaseDue((time.ms += 1_000))
    }
    read(rows, { settled: 9n })
    fail()
    close('away')
    // The shard is complete up to 9 when the second row is parked, and the first one is in memory.
    read(rows, { settled: 9n })
    const known = queue.probeOf('away', '')
    expect(known).toBe('BUSY')
    fail()
    expect(queue.queryProbe(probe()).earlier).toMatchObject({ above: 0n, upTo: 1n, except: [] })
  })

  test('I6 is none once the shard is closed', () => {
    const { queue, read, close, probe } = setup()
    close('away')
    const row = rowOf(1, 'a')
    read([row])
    const known = probe()
    queue.close()
    expect(queue.probeOf('away', '')).toBe('NONE')
    queue.placeProbe('away', known, row, 0)
    expect([queue.size, queue.isDrained]).toEqual([0, true])
  })
})

test('I7 a probe row is left out when an earlier row of its key was parked while it was read', () => {
  const { queue, read, take, close, probe } = setup()
  const row = rowOf(5, 'a')
  read([row])
  const waiting = take()
  close('away')
  queue.wait(waiting, 'away')
  const found = probe()
  close('elsewhere')
  read([rowOf(3, 'a', 'elsewhere')])
  queue.placeProbe('away', found, row, 0)
  expect([queue.hasReady, queue.size]).toEqual([false, 0])
})

describe('I7 what was complete when a row was parked', () => {
  test('is what was so when the rows behind it were left in the table', () => {
    const { road, queue, read, take } = setup()
    const rows = [rowOf(1, 'a'), rowOf(2, 'a'), rowOf(3, 'a')]
    read(rows, { settled: 100n, maxChain: 2 })
    const row = take()
    road.failed(row.event as never, { destination: undefined }, 'away')
    queue.wait(row, 'away')
    road.reached(row.event as never, road.failures)
    queue.opened('away')
    queue.beginRead(100n)
    expect(queue.queryBelow(rows)).toMatchObject({ above: null, upTo: 0n })
  })

  test('is not so any more when another server answers', () => {
    const { road, queue, read, take, close, probe } = setup()
    read([rowOf(5, 'a')], { settled: 100n })
    const row = take()
    close('away')
    queue.wait(row, 'away')
    expect(queue.queryProbe(probe()).earlier).toBeUndefined()
    queue.startOver()
    read([rowOf(9, 'b', 'here')], { settled: 100n })
    expect(queue.queryProbe(probe()).earlier).toMatchObject({ above: null, upTo: 4n })
    road.reached(row.event as never, road.failures)
    queue.opened('away')
    queue.beginRead(100n)
    expect(queue.queryBelow([rowOf(5, 'a')])).toMatchObject({ above: null, upTo: 4n })
  })
})
