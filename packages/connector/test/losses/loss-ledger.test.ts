import { describe, expect, test } from 'vitest'
import type { RecordLoss } from '../../src/api/connector-report.ts'
import { describePositionLoss, LossLedger } from '../../src/losses/loss-ledger.ts'

const loss: RecordLoss = {
  kind: 'LOST',
  binding: 'orders',
  topic: 'orders.events',
  partition: 3,
  what: 'gone.',
  records: 7n,
  atMs: 1,
}

describe('a loss ledger', () => {
  test('keeps a loss once, until it is acknowledged', () => {
    const ledger = new LossLedger()
    expect(ledger.add(loss)).toBe(true)
    expect(ledger.add({ ...loss, atMs: 2 })).toBe(false)
    expect(ledger.list()).toEqual([loss])
    expect(ledger.acknowledge('orders')).toEqual([loss])
    expect(ledger.list()).toEqual([])
    expect(ledger.add(loss)).toBe(true)
  })

  test('acknowledges one partition of one binding', () => {
    const ledger = new LossLedger()
    const [other, foreign] = [
      { ...loss, partition: 4 },
      { ...loss, binding: 'payments' },
    ]
    for (const one of [loss, other, foreign]) ledger.add(one)
    expect(ledger.acknowledge('orders', { topic: 'orders.events', partition: 3 })).toEqual([loss])
    expect(ledger.list()).toEqual([other, foreign])
    expect(ledger.of('orders')).toEqual([other])
  })

  test('is bounded, and counts the dropped losses', () => {
    const ledger = new LossLedger()
    for (let partition = 0; partition < 1_003; partition++) ledger.add({ ...loss, partition })
    expect(ledger.list()).toHaveLength(1_000)
    expect(ledger.forgotten).toBe(3)
    ledger.acknowledge('orders')
    expect(ledger.forgotten).toBe(0)
  })
})

describe('a lost position is described', () => {
  const at = { topic: 'orders.events', partition: 3 }

  test('with the number of records that retention deleted', () => {
    expect(describePositionLoss({ ...at, cause: 'OUT_OF_RANGE', expected: 10n, continuesAt: 25n })).toEqual({
      what: 'the records from offset 10 on were deleted before they were read; reading continues at 25.',
      records: 15n,
    })
  })

  test('without a number where the log ends before it', () => {
    expect(describePositionLoss({ ...at, cause: 'OUT_OF_RANGE', expected: 10n, continuesAt: 4n })).toEqual({
      what: 'the next offset, 10, is not in the log; reading continues at 4.',
      records: undefined,
    })
  })

  test('as a blocked partition with startFrom ERROR', () => {
    expect(describePositionLoss({ ...at, cause: 'OUT_OF_RANGE', expected: 10n, continuesAt: null }).what).toMatch(
      /startFrom is ERROR, so the partition is blocked/,
    )
    expect(describePositionLoss({ ...at, cause: 'NO_OFFSET', expected: null, continuesAt: null }).what).toMatch(
      /no committed offset; startFrom is ERROR/,
    )
  })

  test('as another log after the topic was re-created', () => {
    expect(describePositionLoss({ ...at, cause: 'TOPIC_REPLACED', expected: 10n, continuesAt: 0n }).what).toMatch(
      /deleted and re-created: its records from offset 10 on are gone; reading continues at 0/,
    )
  })
})
