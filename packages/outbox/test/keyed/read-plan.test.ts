import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { planRead, type ReadableShard } from '../../src/keyed/read-plan.ts'

interface Shard extends ReadableShard {
  readonly shard: number
}

function shards(count: number, state: Partial<ReadableShard> = {}): Shard[] {
  return Array.from({ length: count }, (_, shard) => ({
    shard,
    size: 0,
    bytes: 0,
    isHungry: true,
    isBacklogged: false,
    isClosed: false,
    isBlind: false,
    ...state,
  }))
}

const maxBufferedBytes = 64_000_000
const bounds = { batchSize: 500, maxBuffered: 4_096, maxBufferedBytes }

describe('the next read', () => {
  test('takes an equal part of each hungry shard, and all of a lone one', () => {
    expect(planRead(shards(64), bounds, 0)).toMatchObject({ limit: 7, maxChain: 16 })
    const [one] = shards(1)
    const others = shards(63, { isHungry: false })
    expect(planRead([one as Shard, ...others], bounds, 0)).toMatchObject({ shards: [one], limit: 500 })
  })

  test.each([
    ['that has been read to its end', { isHungry: false }],
    ['that is given back', { isClosed: true }],
    ['whose dead keys are not known yet', { isBlind: true }],
  ])('leaves a shard alone %s', (_, state) => {
    expect(planRead(shards(3, state), bounds, 0).shards).toEqual([])
  })

  test('S4-074 starts at another shard each time when it cannot take all, so none starves', () => {
    const all = shards(64)
    const read = new Map<number, number>()
    let turn = 0
    for (let round = 0; round < 64; round++) {
      const plan = planRead(all, { batchSize: 10, maxBuffered: 100, maxBufferedBytes }, turn)
      expect(plan.shards).toHaveLength(10)
      expect(plan.limit).toBe(1)
      turn += plan.shards.length
      for (const { shard } of plan.shards) read.set(shard, (read.get(shard) ?? 0) + 1)
    }
    expect(new Set(read.values())).toEqual(new Set([10]))
  })

  test('I17 a shard that has its share reads no more once memory is half full, and the others still do', () => {
    const full = shards(1, { size: 3_000 })
    const empty = shards(3).map((shard) => ({ ...shard, shard: shard.shard + 1 }))
    expect(planRead([...full, ...empty], bounds, 0).shards).toEqual(empty)
  })

  test('I17 whatever is read, memory stays below its bound and one read, and a share for every shard', () => {
    const sizes = fc.array(fc.nat(300), { minLength: 1, maxLength: 64 })
    fc.assert(
      fc.property(
        sizes,
        fc.integer({ min: 1, max: 600 }),
        fc.integer({ min: 1, max: 5_000 }),
        (given, batchSize, maxBuffered) => {
          let queues = given.map((size, shard) => ({ ...(shards(1)[0] as Shard), shard, size }))
          for (let round = 0; round < 50; round++) {
            const plan = planRead(queues, { batchSize, maxBuffered, maxBufferedBytes }, round)
            expect(plan.shards.length * plan.limit).toBeLessThanOrEqual(batchSize)
            queues = queues.map((queue) =>
              plan.shards.some(({ shard }) => shard === queue.shard)
                ? { ...queue, size: queue.size + plan.limit }
                : queue,
            )
          }
          const before = given.reduce((sum, size) => sum + size, 0)
          const after = queues.reduce((sum, { size }) => sum + size, 0)
          expect(after).toBeLessThanOrEqual(
            Math.max(before, maxBuffered / 2) + batchSize + 2 * maxBuffered + given.length,
          )
        },
      ),
    )
  })
})

describe('the next read, by bytes', () => {
  const few = { ...bounds, maxBufferedBytes: 1_000 }

  test('I24 is none once the bound is reached, and says so if a shard has rows to read', () => {
    const full = shards(1, { bytes: 1_000, isHungry: false })
    const empty = shards(3)
    expect(planRead([...full, ...empty], few, 0)).toMatchObject({ shards: [], isOutOfBytes: true })
    expect(planRead(full, few, 0).isOutOfBytes).toBe(false)
    expect(planRead(empty, few, 0)).toMatchObject({ shards: empty, isOutOfBytes: false })
  })

  test('I24 leaves the second half of memory to shards that have less than their share', () => {
    const large = shards(1, { bytes: 600 })
    const others = shards(3, { bytes: 100 })
    expect(planRead([...large, ...others], few, 0).shards).toEqual(others)
  })

  test('reads as many shards with a backlog as rows fit, and all that are probably empty', () => {
    const backlogged = shards(20, { isBacklogged: true })
    const others = shards(40)
    const { shards: chosen, limit } = planRead([...backlogged, ...others], bounds, 3, 8)
    expect(chosen.filter(({ isBacklogged }) => isBacklogged)).toEqual(backlogged.slice(3, 11))
    expect(chosen).toHaveLength(48)
    expect(limit).toBe(1)
    expect(planRead(backlogged.slice(0, 1), bounds, 0, 8).limit).toBe(8)
  })
})
