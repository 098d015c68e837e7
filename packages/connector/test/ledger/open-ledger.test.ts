import { expect, test } from 'vitest'
import { openLedger } from '../../src/ledger/open-ledger.ts'
import { WaitingRecordsLeftError } from '../../src/ledger/waiting-left-error.ts'

const at = { topic: 'orders', partition: 3 }

test('continues from the commit', () => {
  const { ledger, problem } = openLedger({ ...at, offset: 5n, metadata: 'wb1 s=0 o=5 r=0 d=0 k=0 h=0 b=' }, 5n)
  expect(problem).toBeUndefined()
  expect(ledger.state()).toMatchObject({ since: 0n, position: 5n, counts: { ok: 5n } })
})

test('restarts counting for a new group without a problem', () => {
  const { ledger, problem } = openLedger({ ...at, offset: null, metadata: null }, 7n)
  expect(problem).toBeUndefined()
  expect(ledger.state()).toMatchObject({ since: 7n, position: 7n })
})

test('restarts counting when reading starts at another offset than the committed one', () => {
  const { ledger, problem } = openLedger({ ...at, offset: 5n, metadata: 'wb1 s=0 o=5 r=0 d=0 k=0 h=0 b=' }, 9n)
  expect(problem).toBeUndefined()
  expect(ledger.state()).toMatchObject({ since: 9n, position: 9n, counts: { ok: 0n } })
})

test('reports why a commit is unreadable', () => {
  expect(openLedger({ ...at, offset: 5n, metadata: 'kafkajs' }, 5n).problem).toContain("not Waybill's")
})

test('refuses to overtake records left in the waiting topic of orderingMode KEY', () => {
  const kept = 'w=4 ws=0 wo=0 wr=0 wd=0 wk=4 wh=0 wp=0 wn=2 wb='
  const metadata = `wb1 s=0 o=3 r=2 d=0 k=0 h=0 b= ${kept}`
  expect(openLedger({ ...at, offset: 5n, metadata }, 5n).refusal).toBeInstanceOf(WaitingRecordsLeftError)
  expect(openLedger({ ...at, offset: 5n, metadata }, 9n).refusal).toBeInstanceOf(WaitingRecordsLeftError)
  const drained = metadata.replace('wn=2', 'wn=0').replace('o=3 r=2', 'o=5 r=0')
  expect(openLedger({ ...at, offset: 5n, metadata: drained }, 5n)).toMatchObject({ problem: undefined })
  expect(openLedger({ ...at, offset: 5n, metadata: drained }, 5n)).not.toHaveProperty('refusal')
})
