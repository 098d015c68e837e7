import { describe, expect, test } from 'vitest'
import { type Slice, Work, type WorkPlace } from '../../../src/delivery/work.ts'
import { Ledger, ledgerStateAt } from '../../../src/ledger/ledger.ts'
import { OffsetSet } from '../../../src/ledger/offset-set.ts'
import { PartitionAccount } from '../../../src/partition/lanes/partition-account.ts'
import { batchOf, recordOf } from '../../delivery/work-of.ts'

const at = { topic: 'orders', partition: 3 }

const place: WorkPlace = { kind: 'SOURCE', tier: 0, groupId: 'group', consumerInstance: 'host-0' }
const slice: Slice = { handedOverAt: 0, startedAt: 0, era: 0 }

/** A record of an account that begins at offset 10. */
function workAt(offset: number): Work {
  return new Work(recordOf({ offset: BigInt(offset) }), place, slice, offset - 10)
}

/** An account that begins at offset 10, with records fetched, and what its metric was told. */
function scene(...offsets: bigint[]) {
  const counted: number[] = []
  const account = new PartitionAccount(at, 100, {
    processed: (topic, partition, records) => {
      expect({ topic, partition }).toEqual(at)
      counted.push(records ?? 1)
    },
  })
  account.begin(new Ledger(ledgerStateAt(10n)))
  account.fetched(offsets.map((offset) => recordOf({ offset })))
  return { account, counted }
}

describe('the account of a partition', () => {
  test('S0-166 counts what its handlers did with the commit that tells of it, and each record once', () => {
    const { account, counted } = scene(10n, 11n, 12n, 13n)
    account.settle(workAt(10), 'OK')
    account.settle(workAt(11), 'SKIPPED')
    account.settle(workAt(12), 'OK')
    expect(counted).toEqual([])
    expect(account.pending()?.position).toBe(13n)
    expect(counted).toEqual([2])
    account.settle(workAt(13), 'OK')
    account.count()
    account.count()
    expect(counted).toEqual([2, 1])
  })

  test('has nothing to commit once all of it is acknowledged, until something changes', () => {
    const { account } = scene(10n, 11n)
    expect(account.pending()).toBeUndefined()
    account.settle(workAt(10), 'OK')
    expect([account.isCommitted, account.pending()?.position]).toEqual([false, 11n])
    account.settle(workAt(11), 'OK') // After the commit was sent: it is not in it.
    account.acknowledged(11n)
    expect([account.committed, account.isCommitted, account.pending()?.position]).toEqual([11n, false, 12n])
    account.acknowledged(12n)
    expect([account.isCommitted, account.pending()]).toEqual([true, undefined])
    account.repeat()
    expect(account.pending()?.position).toBe(12n)
  })

  test('commits past a hole before what was fetched, and past the end of what the log has', () => {
    const { account } = scene(15n)
    expect(account.pending()?.position).toBe(15n)
    account.settle(workAt(15), 'OK')
    expect([account.reached(16n), account.reached(20n), account.watermark]).toEqual([false, true, 20n])
  })

  test('leaves out what an earlier owner has settled above its commit', () => {
    const { account } = scene()
    account.begin(new Ledger({ ...ledgerStateAt(10n), settledAbove: OffsetSet.of(10n, [11n]) }))
    const fetched = account.fetched([10n, 11n, 12n].map((offset) => recordOf({ offset })))
    expect(fetched.map(({ distance, records }) => [distance, records.map(({ offset }) => offset)])).toEqual([
      [0, [10n]],
      [2, [12n]],
    ])
  })

  test('tells records that follow each other apart from those behind a hole', () => {
    const { account } = scene()
    const runs = account.fetched([10n, 11n, 14n, 15n, 17n].map((offset) => recordOf({ offset })))
    expect(runs.map(({ distance, records }) => [distance, records.length])).toEqual([
      [0, 2],
      [4, 2],
      [7, 1],
    ])
    expect(account.fetched([])).toEqual([])
  })

  test.for([
    ['without a hole', [10, 11, 12]],
    ['with a hole', [10, 11, 14]],
  ] as const)('settles a batch %s at once, and counts it', ([, offsets]) => {
    const { account, counted } = scene(...offsets.map(BigInt))
    account.settleAll(batchOf(offsets.map(workAt)))
    expect(account.pending()).toMatchObject({ position: BigInt(offsets[2] + 1), counts: { ok: 3n } })
    expect(counted).toEqual([3])
  })

  test('L5 how far records may start moves with what is acknowledged, and with the log that begins anew', () => {
    const { account } = scene(10n, 11n)
    expect([account.startLimit, account.isUrgent(workAt(59)), account.isUrgent(workAt(60))]).toEqual([100, false, true])
    account.settle(workAt(10), 'OK')
    account.pending()
    account.acknowledged(11n)
    expect([account.startLimit, account.isUrgent(workAt(60)), account.isUrgent(workAt(61))]).toEqual([101, false, true])
    account.begin(new Ledger(ledgerStateAt(2n)))
    expect(account.startLimit).toBe(100)
  })
})
