import { checkWaiting, type WaitingSource } from '@waybill/contract/waiting'
import { RecordHeaders, systemRuntime } from '@waybill/core'
import { expect, test } from 'vitest'
import { ReadBudget } from '../../src/waiting/read-budget.ts'
import { released } from './shop-catalogs.ts'

test('names the first of several records that cannot be read', async () => {
  const wire = { key: null, value: Buffer.from('no event'), headers: RecordHeaders.from([]) }
  const source: WaitingSource = {
    async read(_budget, visit) {
      for (const place of ['a', 'b']) await visit({ place, wire, bytes: 8, wasUnreadable: false })
      return []
    },
  }
  const { counts } = await checkWaiting({ events: released('orders'), sources: [source] })
  expect(counts).toMatchObject([{ event: null, count: 2, failed: 2, failure: { place: 'a' } }])
})

test.each([
  ['maxRecords', { maxRecords: 1 }],
  ['maxBytes', { maxBytes: 8 }],
  ['maxMs', { maxMs: 0 }],
])('stops reading at %s', (bound, bounds) => {
  const budget = new ReadBudget(bounds, systemRuntime.clock)
  budget.take(8)
  expect(budget.spent).toBe(bound)
})
