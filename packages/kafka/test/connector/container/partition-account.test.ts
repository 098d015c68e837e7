import { describe, expect, test } from 'vitest'
import { PartitionAccount } from '../../../src/connector/container/partition-account.ts'
import { Ledger, ledgerStateAt } from '../../../src/connector/ledger/ledger.ts'
import { OffsetSet } from '../../../src/connector/ledger/offset-set.ts'
import { recordOf } from './work-of.ts'

const at = { topic: 'orders', partition: 3 }

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
    account.settle(10n, 'OK')
    account.settle(11n, 'SKIPPED')
    account.settle(12n, 'OK')
    expect(counted).toEqual([])
    expect(account.pending()?.position).toBe(13n)
    expect(counted).toEqual([2])
    account.settle(13n, 'OK')
    account.count()
    account.count()
    expect(counted).toEqual([2, 1])
  })

  test('has nothing to commit once all of it is acknowledged, until something changes', () => {
    const { account } = scene(10n, 11n)
    expect(account.pending()).toBeUndefined()
    account.settle(10n, 'OK')
    expect([account.isCommitted, account.pending()?.position]).toEqual([false, 11n])
    account.settle(11n, 'OK') // After the commit was sent: it is not in it.
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
    account.settle(15n, 'OK')
    expect([account.reached(16n), account.reached(20n), account.watermark]).toEqual([false, true, 20n])
  })

  test('leaves out what an earlier owner has settled above its commit', () => {
    const { account } = scene()
    account.begin(new Ledger({ ...ledgerStateAt(10n), settledAbove: OffsetSet.of(10n, [11n]) }))
    const fetched = account.fetched([10n, 11n, 12n].map((offset) => recordOf({ offset })))
    expect(fetched.map(({ offset }) => offset)).toEqual([10n, 12n])
  })
})
